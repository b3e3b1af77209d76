/* SPDX-License-Identifier: GPL-2.0 */
/* `exporter --ui`: a page for people, and the documents that it shows. */
#ifndef MPS_UI_H
#define MPS_UI_H

#include <microhttpd.h>
#include "kernel/netns.h"
#include "stats/reader.h"

/* Of ui.html, by embed.py. */
extern const char ui_page[], ui_policy[];

/* X(ID, path): what it serves besides the page */
#define UI_DOCUMENTS(X)         \
	X(STATS, "/stats.json") \
	X(ACCOUNTS, "/accounts.json")

enum ui_document {
#define UI_ENUM(id, path) UI_##id,
	UI_DOCUMENTS(UI_ENUM)
#undef UI_ENUM
		NR_UI_DOCUMENTS
};

/* What they are made of. */
struct ui_look {
	const struct reading *now, *before; /* before: or NULL */
	const struct netns_list *namespaces;
	unsigned int top; /* so many connections */
};

/* NR_UI_DOCUMENTS: none has that path. */
enum ui_document ui_find(const char *path);
/* NULL: no memory. The caller destroys them. */
struct MHD_Response *ui_make_page(void);
struct MHD_Response *ui_make_document(enum ui_document which, const struct ui_look *look);

#endif /* MPS_UI_H */
