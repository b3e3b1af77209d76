// SPDX-License-Identifier: GPL-2.0
/*
 * Requests are made where nothing may be allocated: in a tracepoint, which on PREEMPT_RT before
 * 7.x runs with preemption off, while the allocator's locks sleep there. So they are made ahead,
 * in process context, and taken under a raw lock.
 */
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include "kernel_private.h"

#define MSB_POOL_STEP 128 /* at a time, at the beginning, and whenever fewer are left */
#define MSB_POOL_KEPT 1024

static LIST_HEAD(msb_free);
static unsigned int msb_nr_free;
static DEFINE_RAW_SPINLOCK(msb_pool_lock);

static void msb_refill_work(struct work_struct *work);
static DECLARE_WORK(msb_refill, msb_refill_work);

/* Whether there is room for it among @most. */
static bool msb_pool_add(struct msb_request *r, unsigned int most)
{
	unsigned long irq;
	bool room;

	raw_spin_lock_irqsave(&msb_pool_lock, irq);
	room = msb_nr_free < most;
	if (room) {
		list_add(&r->free, &msb_free);
		msb_nr_free++;
	}
	raw_spin_unlock_irqrestore(&msb_pool_lock, irq);
	return room;
}

static int msb_pool_fill(unsigned int n)
{
	while (n--) {
		struct msb_request *r = kzalloc(sizeof(*r), GFP_KERNEL);

		if (!r)
			return -ENOMEM;
		if (!msb_pool_add(r, MSB_POOL_KEPT)) {
			kfree(r);
			break;
		}
	}
	return 0;
}

static void msb_refill_work(struct work_struct *work)
{
	msb_pool_fill(MSB_POOL_STEP);
}

struct msb_request *msb_pool_get(void)
{
	struct msb_request *r;
	unsigned long irq;
	bool few;

	raw_spin_lock_irqsave(&msb_pool_lock, irq);
	r = list_first_entry_or_null(&msb_free, struct msb_request, free);
	if (r) {
		list_del(&r->free);
		msb_nr_free--;
	}
	few = msb_nr_free < MSB_POOL_STEP / 2;
	raw_spin_unlock_irqrestore(&msb_pool_lock, irq);
	if (few)
		queue_work(msb_wq, &msb_refill);
	return r;
}

/* Where it cannot be freed: it was taken just now, so the pool is not the larger for it. */
void msb_pool_put_back(struct msb_request *r)
{
	msb_pool_add(r, UINT_MAX);
}

/* In process context. */
void msb_pool_put(struct msb_request *r)
{
	if (!msb_pool_add(r, MSB_POOL_KEPT))
		kfree(r);
}

int msb_pool_start(void)
{
	return msb_pool_fill(MSB_POOL_STEP);
}

/* Nobody takes any more, and the workqueue is gone. */
void msb_pool_stop(void)
{
	struct msb_request *r, *next;

	list_for_each_entry_safe(r, next, &msb_free, free) kfree(r);
	INIT_LIST_HEAD(&msb_free);
	msb_nr_free = 0;
}
