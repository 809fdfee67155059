/* SPDX-License-Identifier: Apache-2.0 */
/* What may name an object (portald/vault.h), and where it lies below the vault's directory. Pure.
 *
 * An object may be called "a" and another one "a/b", so a folder is not called as an object is: of "a/b/c" the folders are "a~" and "b~" and
 * the file is "c". A part over NAME_CHUNK bytes goes through folders that end in '+', and what follows those begins with '='. None of the
 * three is in an object's name. */
#ifndef VAULT_NAME_H
#define VAULT_NAME_H

#include <stdbool.h>
#include <stddef.h>

#define NAME_BYTES_MAX 512
#define NAME_CHUNK 200
#define NAME_PATH_MAX 1200 /* of a path below the vault's directory, with its NUL */

bool name_ok(const char *name);
/* The path of an object, relative. name: name_ok(). */
void name_to_path(const char *name, char ret[NAME_PATH_MAX]);
/* One entry of a folder, appended to what its folder stands for: false = not of our making, or too long. *ret_folder: it must be a folder. */
bool name_append(char name[NAME_BYTES_MAX + 2], const char *entry, bool *ret_folder);

#endif
