/* SPDX-License-Identifier: Apache-2.0 */
#include "market/internal.h"

static struct node winner(const struct node *tree, uint32_t i)
{
        const struct node *children = &tree[2 * (size_t)i];

        return node_before(&children[0], &children[1]) ? children[0] : children[1];
}

void tree_fill(struct node *tree, uint32_t n)
{
        for (uint32_t i = n; i-- > 1;)
                tree[i] = winner(tree, i);
}

bool tree_set(struct node *tree, uint32_t n, uint32_t leaf, struct node v)
{
        uint32_t i = n + leaf;

        for (;;) {
                if (tree[i].rate == v.rate && tree[i].offer == v.offer)
                        return false;
                tree[i] = v;
                if (i == 1)
                        return true;
                i /= 2;
                v = winner(tree, i);
        }
}

/* --- the cheapest few: the winner, then the best of the subtrees that lost to it on its way up --- */
struct front {
        const struct node *tree;
        uint32_t n, at;
        bool of_class;
};
#define PATH_MAX_NODES 42 /* two trees of at most 2^20 leaves */

struct fronts {
        struct front all[MARKET_CHEAPEST_MAX * PATH_MAX_NODES + 1];
        size_t n;
};

static void push(struct fronts *f, const struct node *tree, uint32_t n, uint32_t at, bool of_class)
{
        if (tree[at].rate != INT64_MAX)
                f->all[f->n++] = (struct front){ tree, n, at, of_class };
}

/* Down to the winning leaf, leaving the losers behind as new fronts. */
static void descend(struct fronts *f, struct front from)
{
        uint32_t offer = from.tree[from.at].offer, i = from.at;

        while (i < from.n) {
                uint32_t first = 2 * i, wins = from.tree[first].offer == offer ? first : first + 1;

                push(f, from.tree, from.n, wins ^ 1, from.of_class);
                i = wins;
        }
}

static struct front pop(struct fronts *f)
{
        size_t best = 0;
        struct front taken;

        for (size_t i = 1; i < f->n; i++)
                if (node_before(&f->all[i].tree[f->all[i].at], &f->all[best].tree[f->all[best].at]))
                        best = i;
        taken = f->all[best];
        f->all[best] = f->all[--f->n];
        return taken;
}

size_t market_cheapest(const struct market *k, uint32_t class, size_t n, uint32_t ret[])
{
        const struct class *c = &k->classes[class];
        const struct groups *g = k->groups;
        struct fronts f;
        size_t found = 0;

        f.n = 0; /* alone: the places need no value */
        if (n > MARKET_CHEAPEST_MAX)
                n = MARKET_CHEAPEST_MAX;
        if (c->n)
                push(&f, &g->class_nodes[2 * (size_t)c->first], c->n, 1, true);
        while (f.n && found < n) {
                struct front top = pop(&f);
                struct node v = top.tree[top.at];

                ret[found++] = v.offer;
                descend(&f, top);
                if (top.of_class) {
                        const struct group *in = &g->group[v.group];

                        descend(&f, (struct front){ &g->offer_nodes[2 * (size_t)in->first], in->n, 1, false });
                }
        }
        return found;
}

/* --- one rate changes --- */
void market_put_rate(struct market *k, uint32_t offer)
{
        const struct groups *g = k->groups;
        const struct group *in;
        struct node v = { k->rate[offer], offer, 0 };
        struct node *tree;

        if (!g)
                return;
        in = &g->group[g->group_of[offer]];
        tree = &g->offer_nodes[2 * (size_t)in->first];
        if (!tree_set(tree, in->n, g->leaf_of[offer], v))
                return;
        v = tree[1];
        v.group = g->group_of[offer];
        for (uint32_t i = 0; i < in->places_n; i++) {
                const struct place *p = &g->places[in->places_first + i];
                const struct class *c = &k->classes[p->class];
                struct node *top = &g->class_nodes[2 * (size_t)c->first];

                if (tree_set(top, c->n, p->leaf, v))
                        k->best[p->class] = top[1].rate;
        }
}

uint32_t market_best(const struct market *k, uint32_t class)
{
        const struct class *c = &k->classes[class];

        return k->best[class] == INT64_MAX ? MARKET_NONE : k->groups->class_nodes[2 * (size_t)c->first + 1].offer;
}
