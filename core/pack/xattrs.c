/* SPDX-License-Identifier: Apache-2.0 */
#include "pack/xattrs.h"

#include <endian.h>

#include "pack/pack.h"

#define CAP_REVISION_MASK UINT32_C(0xff000000)
#define CAP_REVISION_2 UINT32_C(0x02000000)
#define CAP_REVISION_3 UINT32_C(0x03000000)
#define CAP_2_BYTES 20
#define CAP_3_BYTES 24
#define ACL_USER 0x02
#define ACL_GROUP 0x08

bool xattr_travels(const char *name)
{
        return str_starts(name, "user.") || streq(name, "trusted.overlay.opaque") ||
               streq(name, "security.capability") || streq(name, "system.posix_acl_access") ||
               streq(name, "system.posix_acl_default");
}

static uint32_t get32(const uint8_t *p)
{
        uint32_t v;

        memcpy(&v, p, sizeof v);
        return le32toh(v);
}

static void put32(uint8_t *p, uint32_t v)
{
        v = htole32(v);
        memcpy(p, &v, sizeof v);
}

static bool shift_id(uint32_t *id, uint32_t base, bool out)
{
        if (out && (*id < base || *id - base >= PACK_IDS))
                return false;
        if (!out && *id >= PACK_IDS)
                return false;
        *id = out ? *id - base : *id + base;
        return true;
}

/* In a user namespace the kernel writes revision 3 with the id of the namespace's root; travelling, it is revision 2. Without a user namespace a
 * capability would be one of the machine: it does not come back. */
static bool shift_capability(uint8_t *v, size_t *n, uint32_t base, bool out)
{
        uint32_t magic = *n >= CAP_2_BYTES ? get32(v) : 0;

        if (out && (magic & CAP_REVISION_MASK) == CAP_REVISION_3 && *n == CAP_3_BYTES) {
                if (get32(v + CAP_2_BYTES) != base)
                        return false;
                put32(v, (magic & ~CAP_REVISION_MASK) | CAP_REVISION_2);
                *n = CAP_2_BYTES;
                return true;
        }
        if ((magic & CAP_REVISION_MASK) != CAP_REVISION_2 || *n != CAP_2_BYTES)
                return false;
        if (out)
                return true;
        if (base == 0)
                return false;
        put32(v, (magic & ~CAP_REVISION_MASK) | CAP_REVISION_3);
        put32(v + CAP_2_BYTES, base);
        *n = CAP_3_BYTES;
        return true;
}

/* A version, then entries of tag, permissions and id. */
static bool shift_acl(uint8_t *v, size_t n, uint32_t base, bool out)
{
        if (n < 4 || (n - 4) % 8 != 0)
                return false;
        for (uint8_t *e = v + 4; e < v + n; e += 8) {
                unsigned tag = e[0] | (unsigned)e[1] << 8;
                uint32_t id = get32(e + 4);

                if (tag != ACL_USER && tag != ACL_GROUP)
                        continue;
                if (!shift_id(&id, base, out))
                        return false;
                put32(e + 4, id);
        }
        return true;
}

bool xattr_shift(const char *name, uint8_t *value, size_t *n, uint32_t id_base, bool out)
{
        if (streq(name, "security.capability"))
                return shift_capability(value, n, id_base, out);
        if (str_starts(name, "system.posix_acl_"))
                return shift_acl(value, *n, id_base, out);
        if (streq(name, "trusted.overlay.opaque"))
                return *n == 1 && *value == 'y';
        return str_starts(name, "user.");
}
