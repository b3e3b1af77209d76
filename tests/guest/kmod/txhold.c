// SPDX-License-Identifier: GPL-2.0
/*
 * Makes any device behave as one with a busy driver that counts bytes, so that
 * packets stay in whatever queue stands in front of it:
 *
 *	echo "p1 3000" >/sys/module/txhold/parameters/hold
 *	echo "p1 0" >/sys/module/txhold/parameters/hold
 *
 * stops each transmit queue of that device of the writer's network namespace
 * with 3000 more bytes in the driver, and completes them and goes on.
 */
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <net/net_namespace.h>

static void hold(struct netdev_queue *txq, unsigned int bytes)
{
	const unsigned int inside = txq->dql.num_queued - txq->dql.num_completed;

	if (bytes) {
		netif_tx_stop_queue(txq);
		netdev_tx_sent_queue(txq, bytes);
		return;
	}
	if (inside)
		netdev_tx_completed_queue(txq, 1, inside);
	netif_tx_wake_queue(txq);
}

static int set_hold(const char *text, const struct kernel_param *kp)
{
	struct net_device *dev;
	char name[IFNAMSIZ];
	unsigned int i, bytes;

	if (sscanf(text, "%15s %u", name, &bytes) != 2)
		return -EINVAL;
	dev = dev_get_by_name(current->nsproxy->net_ns, name);
	if (!dev)
		return -ENODEV;
	local_bh_disable();
	for (i = 0; i < dev->real_num_tx_queues; i++)
		hold(netdev_get_tx_queue(dev, i), bytes);
	local_bh_enable();
	dev_put(dev);
	return 0;
}

static const struct kernel_param_ops ops = { .set = set_hold };
module_param_cb(hold, &ops, NULL, 0200);

static int __init txhold_init(void)
{
	return 0;
}
module_init(txhold_init);

static void __exit txhold_exit(void)
{
}
module_exit(txhold_exit);

MODULE_DESCRIPTION("Holds the transmit queues of a device, for tests");
MODULE_LICENSE("GPL");
