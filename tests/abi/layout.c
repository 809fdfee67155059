/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled twice: with the frozen headers and with the present ones. It holds no code; that it compiles is the test. */
#include <assert.h>
#include <stddef.h>

#include <portald/billing.h>
#include <portald/checkpoint.h>
#include <portald/provider.h>
#include <portald/vault.h>

#include "1.0/layout.h"

/* so that the object is not empty: how many bytes a 1.0 plugin's largest table has */
const size_t LAYOUT_NAME = sizeof(struct pd_provider);
