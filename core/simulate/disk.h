/* SPDX-License-Identifier: Apache-2.0 */
/* A disk that keeps only what was synced: an SQLite VFS over the system's.
 *
 * Every write since a file's last sync is remembered with what stood there before. When the power is cut nothing more is written; once the files are
 * closed, disk_power_back() leaves of each such write all, a torn part, or nothing, each by itself, in whatever order a disk may have done them.
 * One disk a process; its functions are called by the thread that owns the world, its writes come from the store's. */
#ifndef SIMULATE_DISK_H
#define SIMULATE_DISK_H

#include <stdbool.h>
#include <stdint.h>

#define DISK_VFS "portald-disk" /* world_options.vfs */

enum disk_trouble {
        DISK_GOOD,
        DISK_CUT,   /* the power goes: this write, and all after it, fail */
        DISK_FULL,  /* writes fail for want of room, until disk_mend()    */
        DISK_ERROR, /* writes and syncs fail, until disk_mend()           */
};

int disk_install(void); /* registers the VFS; a second time is nothing. Negative = it cannot */
/* What happens at a write or sync that is this many away (0 = the next). */
void disk_arm(enum disk_trouble what, uint64_t away);
/* DISK_FULL, for as long as the file `ballast` takes the room. */
void disk_arm_full(const char *ballast, uint64_t away);
bool disk_struck(void); /* has it happened since disk_arm()? */
void disk_mend(void);
/* Now, or at the latest: from here on nothing reaches the disk. */
void disk_cut(void);
/* The files are closed: what was not synced is lost or torn, by this seed; the disk is good again. False = it cannot be done. */
bool disk_power_back(uint64_t seed);
/* Syncs are answered and not done: a disk that lies. For the test that shows what is seen then. */
void disk_lie(bool lies);
uint64_t disk_unsynced(void); /* writes that a cut could take back */

#endif
