/* SPDX-License-Identifier: Apache-2.0 */
/* What a slot that a plugin does not have does instead: the defaults that the SDK's comments promise, and nowhere else. */
#include "base/quantity.h"
#include "host/slots.h"

int default_nothing(const struct plugin *p, struct slot_call *c, struct pd_error *err)
{
        (void)p, (void)c, (void)err;
        return 0;
}

int default_unsupported(const struct plugin *p, struct slot_call *c, struct pd_error *err)
{
        return pd_fail(err, PD_E_UNSUPPORTED, "plugin %s has no %s", p->name, c->slot->name);
}

int default_validate(const struct plugin *p, struct slot_call *c, struct pd_error *err)
{
        struct slot_out out = { .provider_caps = { .size = sizeof out.provider_caps } };

        return p->provider.caps(p->self, &c->pd, &out.provider_caps, err);
}

int default_notice(const struct plugin *p, struct slot_call *c, struct pd_error *err)
{
        (void)p, (void)err;
        c->out.at_wall_us = 0;
        return 0;
}

int default_recipe(const struct plugin *p, struct slot_call *c, struct pd_error *err)
{
        (void)p, (void)err;
        return slot_host.put(&c->pd, "recipe", "");
}

/* Price x time: which machine it is, then what the provider lists for it now. */
struct priced {
        char zone[64], type[80];
        enum pd_market market;
        int64_t price_nano_hour; /* -1 = not seen */
};

static int see_machine(void *arg, const struct pd_machine *m)
{
        struct priced *p = arg;

        if (m && m->zone && m->type && str_format(p->zone, sizeof p->zone, "%s", m->zone) &&
                str_format(p->type, sizeof p->type, "%s", m->type))
                p->market = m->market;
        return 0;
}

static int see_offer(void *arg, const struct pd_offer *o)
{
        struct priced *p = arg;

        if (o && o->zone && o->type && o->market == p->market && streq(o->zone, p->zone) && streq(o->type, p->type))
                p->price_nano_hour = o->price_nano_hour;
        return 0;
}

int default_cost(const struct plugin *p, struct slot_call *c, struct pd_error *err)
{
        struct priced seen = { .price_nano_hour = -1 };
        int r = p->provider.describe(p->self, &c->pd, c->in.id, see_machine, &seen, err);

        if (r == 0)
                r = p->provider.offers(p->self, &c->pd, see_offer, &seen, err);
        if (r != 0)
                return r;
        if (seen.price_nano_hour < 0)
                return pd_fail(err, PD_E_NOT_FOUND, "no price is listed for %s/%s of machine %s", seen.zone, seen.type,
                        c->in.id);
        if (c->in.to_wall_us < c->in.from_wall_us)
                return pd_fail(err, PD_E_INVALID, "the end of the time to be paid lies before its start");
        c->out.nano = money_cost(seen.price_nano_hour, c->in.to_wall_us - c->in.from_wall_us);
        c->out.is_estimate = 1;
        return 0;
}
