/* SPDX-License-Identifier: Apache-2.0 */
/* Within the room: the index's memory. A tournament tree of n leaves is an array of 2n nodes: node 1 is the winner, node i's children are 2i and 2i + 1, leaf
 * l is node n + l. Winner = lowest rate, then lowest offer. */
#ifndef MARKET_INTERNAL_H
#define MARKET_INTERNAL_H

#include "market/market.h"

struct node {
        int64_t rate;   /* INT64_MAX = not usable                  */
        uint32_t offer; /* who wins below                          */
        uint32_t group; /* in a class's tree: the winner's group   */
};

static inline bool node_before(const struct node *a, const struct node *b)
{
        return a->rate < b->rate || (a->rate == b->rate && a->offer < b->offer);
}
void tree_fill(struct node *tree, uint32_t n);
/* The leaf's node is set; returns whether the winner changed. Stops where nothing changes. */
bool tree_set(struct node *tree, uint32_t n, uint32_t leaf, struct node v);

struct class
{
        struct market_need need; /* without .on */
        struct spec_on on;
        bool anywhere;
        uint32_t uses;     /* 0 = free */
        uint32_t first, n; /* of its tree: nodes 2 x first ..., n leaves */
};
struct group {
        uint32_t first, n; /* its offers: order[first ...]; tree: offer_nodes[2 x first ...] */
        uint32_t places_first, places_n;
};
struct place { /* a group's leaf in a class's tree */
        uint32_t class, leaf;
};
/* What market_build() makes, in one block. */
struct groups {
        uint32_t n;
        uint32_t *order; /* offers, by what they fit, then as given */
        uint32_t *group_of, *leaf_of;
        struct group *group;
        struct node *offer_nodes, *class_nodes;
        struct place *places;
};

struct market {
        char currency[4];
        uint32_t offers_n, classes_n, classes_max, words; /* 64 classes a word */
        const struct market_rates *rates;
        struct market_offer *offers;
        int64_t *rate;   /* of each offer, converted; INT64_MAX = not usable */
        int64_t *change; /* when time alone will change that; INT64_MAX = never */
        int64_t change_first;
        uint64_t *fits; /* words of each offer: bit = class */
        struct class *classes;
        int64_t *best;         /* of each class */
        struct groups *groups; /* NULL = to be built */
};

void market_put_rate(struct market *k, uint32_t offer);

#endif
