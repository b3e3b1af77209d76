/* SPDX-License-Identifier: GPL-2.0 */
/*
 * By which name a request asks. A page of another site may have its own name lead here, and a
 * browser then lets that page read what it gets (DNS rebinding). So a name is one that such a site
 * cannot have, or one that was given.
 */
#ifndef MPS_HOST_H
#define MPS_HOST_H

#include <stdbool.h>

/* Can it be a name at all? Without a port. */
bool host_is_name(const char *text);

/*
 * The header Host of a request, NULL: it has none, as no browser's. An address, localhost, the
 * machine's own name, or one of these.
 */
bool host_is_ours(const char *header, const char *const *names, unsigned int nr);

#endif /* MPS_HOST_H */
