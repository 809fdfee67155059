/* SPDX-License-Identifier: Apache-2.0 */
/* Offers that fit the same classes are one group: made anew when a class is, in one pass and one sort. */
#include "market/internal.h"

bool market_fits(const struct market *k, uint32_t class, uint32_t offer)
{
        return k->fits[(size_t)offer * k->words + class / 64] >> (class % 64) & 1;
}

static int by_fits(const void *a, const void *b, void *arg)
{
        const struct market *k = arg;
        uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
        int d = memcmp(&k->fits[(size_t)x * k->words], &k->fits[(size_t)y * k->words], k->words * sizeof *k->fits);

        return d ? d : (x > y) - (x < y);
}

static bool same_fits(const struct market *k, uint32_t x, uint32_t y)
{
        return memcmp(&k->fits[(size_t)x * k->words], &k->fits[(size_t)y * k->words], k->words * sizeof *k->fits) == 0;
}

/* Groups and their sizes from the sorted offers; sets each class's number of groups and returns their sum. */
static size_t count(struct market *k, const uint32_t *order, uint32_t *ret_groups)
{
        size_t places = 0;

        *ret_groups = 0;
        for (uint32_t c = 0; c < k->classes_n; c++)
                k->classes[c].n = 0;
        for (uint32_t i = 0; i < k->offers_n; i++) {
                if (i && same_fits(k, order[i - 1], order[i]))
                        continue;
                (*ret_groups)++;
                for (uint32_t c = 0; c < k->classes_n; c++)
                        if (market_fits(k, c, order[i])) {
                                k->classes[c].n++;
                                places++;
                        }
        }
        return places;
}

/* One block; each part's size is a multiple of its successor's alignment. */
static struct groups *allocate(const struct market *k, uint32_t groups, size_t places)
{
        size_t n = k->offers_n, nodes = 2 * n + 2 * places;
        struct groups *g = calloc(1, sizeof *g + nodes * sizeof(struct node) + groups * sizeof(struct group) +
                                             places * sizeof(struct place) + 3 * n * sizeof(uint32_t));
        char *at;

        if (!g)
                return NULL;
        at = (char *)(g + 1);
        g->offer_nodes = (struct node *)(void *)at;
        g->class_nodes = g->offer_nodes + 2 * n;
        g->group = (struct group *)(void *)(g->class_nodes + 2 * places);
        g->places = (struct place *)(void *)(g->group + groups);
        g->order = (uint32_t *)(void *)(g->places + places);
        g->group_of = g->order + n;
        g->leaf_of = g->group_of + n;
        return g;
}

static void add_offer(struct groups *g, uint32_t i)
{
        uint32_t offer = g->order[i], group = g->n - 1, leaf = i - g->group[group].first;

        g->group_of[offer] = group;
        g->leaf_of[offer] = leaf;
        g->group[group].n = leaf + 1;
}

static void fill_groups(const struct market *k, struct groups *g)
{
        for (uint32_t i = 0; i < k->offers_n; i++) {
                if (!i || !same_fits(k, g->order[i - 1], g->order[i]))
                        g->group[g->n++].first = i;
                add_offer(g, i);
        }
        for (uint32_t i = 0; i < g->n; i++) {
                const struct group *in = &g->group[i];
                struct node *tree = &g->offer_nodes[2 * (size_t)in->first];

                for (uint32_t l = 0; l < in->n; l++) {
                        uint32_t offer = g->order[in->first + l];

                        tree[in->n + l] = (struct node){ k->rate[offer], offer, 0 };
                }
                tree_fill(tree, in->n);
        }
}

/* The groups that fit each class become the leaves of its tree. */
static void fill_classes(struct market *k, struct groups *g)
{
        uint32_t first = 0, place = 0;

        for (uint32_t c = 0; c < k->classes_n; c++) {
                k->classes[c].first = first;
                first += k->classes[c].n;
                k->classes[c].n = 0;
        }
        for (uint32_t i = 0; i < g->n; i++) {
                g->group[i].places_first = place;
                for (uint32_t c = 0; c < k->classes_n; c++)
                        if (market_fits(k, c, g->order[g->group[i].first]))
                                g->places[place++] = (struct place){ c, k->classes[c].n++ };
                g->group[i].places_n = place - g->group[i].places_first;
        }
        for (uint32_t i = 0; i < g->n; i++)
                for (uint32_t p = 0; p < g->group[i].places_n; p++) {
                        const struct place *at = &g->places[g->group[i].places_first + p];
                        const struct class *c = &k->classes[at->class];
                        struct node v = g->offer_nodes[2 * (size_t)g->group[i].first + 1];

                        v.group = i;
                        g->class_nodes[2 * (size_t)c->first + c->n + at->leaf] = v;
                }
        for (uint32_t c = 0; c < k->classes_n; c++) {
                struct node *tree = &g->class_nodes[2 * (size_t)k->classes[c].first];

                tree_fill(tree, k->classes[c].n);
                k->best[c] = k->classes[c].n ? tree[1].rate : INT64_MAX;
        }
}

int market_build(struct market *k, struct pd_error *err)
{
        pd_cleanup(freep) uint32_t *order = NULL;
        struct groups *g;
        uint32_t groups;
        size_t places;

        if (k->groups)
                return 0;
        order = calloc((size_t)k->offers_n + 1, sizeof *order);
        if (!order)
                return pd_fail(err, PD_E_NOMEM, "no memory to index %u offers", k->offers_n);
        for (uint32_t i = 0; i < k->offers_n; i++)
                order[i] = i;
        qsort_r(order, k->offers_n, sizeof *order, by_fits, k);
        places = count(k, order, &groups);
        g = allocate(k, groups, places);
        if (!g)
                return pd_fail(err, PD_E_NOMEM, "no memory to index %u offers in %u groups", k->offers_n, groups);
        memcpy(g->order, order, k->offers_n * sizeof *order);
        fill_groups(k, g);
        fill_classes(k, g);
        k->groups = g;
        return 0;
}
