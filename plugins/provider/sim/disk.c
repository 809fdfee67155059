/* SPDX-License-Identifier: Apache-2.0 */
#include "disk.h"

#include <stddef.h>

int disk_new(struct disk **ret, const char *path, struct pd_error *err)
{
        (void)ret;
        (void)pd_fail(err, PD_E_UNSUPPORTED, "state = \"%.100s\": this version keeps no state on disk", path);
        return pd_fail_subject(err, "state");
}

void disk_free(struct disk *d)
{
        (void)d;
}

int disk_lock(struct disk *d, struct pd_error *err)
{
        (void)d, (void)err;
        return 0;
}

void disk_unlock(struct disk *d)
{
        (void)d;
}

bool disk_changed(struct disk *d)
{
        (void)d;
        return false;
}

int disk_load(struct disk *d, struct cloud *c, struct pd_error *err)
{
        (void)d, (void)c, (void)err;
        return 0;
}

int disk_save(struct disk *d, const struct cloud *c, struct pd_error *err)
{
        (void)d, (void)c, (void)err;
        return 0;
}

void disk_recipes(struct disk *d, struct cloud *c, int64_t now_wall_us)
{
        (void)d, (void)c, (void)now_wall_us;
}
