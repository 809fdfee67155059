/* SPDX-License-Identifier: Apache-2.0 */
/* Extended attributes that travel with a layer, and the ids inside some of them. Includes base only. */
#ifndef PACK_XATTRS_H
#define PACK_XATTRS_H

#include "base/base.h"

#define XATTR_VALUE_MAX 65536

/* May this attribute travel? */
bool xattr_travels(const char *name);
/* Rewrites ids in value (in place, *n may change by the 4 bytes of a root id; the buffer has XATTR_VALUE_MAX bytes): out of the machine's
 * range (out = true) or into it. false = not understood, or an id outside the range: it does not travel. */
bool xattr_shift(const char *name, uint8_t *value, size_t *n, uint32_t id_base, bool out);

#endif
