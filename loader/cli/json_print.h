/* SPDX-License-Identifier: GPL-2.0 */
#ifndef MPS_JSON_PRINT_H
#define MPS_JSON_PRINT_H

#include <stdio.h>
#include <json-c/json.h>

/*
 * On one line, as json_object_to_json_string_ext() has it with JSON_C_TO_STRING_PLAIN. That makes
 * the text in memory and formats numbers by printf(), which for lists of thousands is most of the
 * time that a command takes.
 */
void json_print(FILE *f, struct json_object *value);

/* Text that json-c made, without what a terminal would obey. */
void json_put_text(FILE *f, const char *text);

#endif /* MPS_JSON_PRINT_H */
