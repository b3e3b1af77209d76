/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How far the peer's data-level window really reaches. For the core it ends at the
 * newest data-level acknowledgement plus the window of the subflow on which that came
 * (ack_update_msk(), net/mptcp/options.c). But an acknowledgement may be new to the
 * connection and not to the subflow, like those by which a subflow hears of its own
 * loss. TCP does not take over a smaller window from it (tcp_may_update_window(),
 * net/ipv4/tcp_input.c). Then the core's end is too far out, by all that the other
 * subflows carried since. The receiver drops what is sent there (MPTcpExtNoDSSInWindow)
 * after TCP has acknowledged it, and only a timer sends it again.
 *
 * So while there is such a subflow, and until both accounts agree again, what counts
 * is the window that a subflow had when it last took one over, from where the
 * connection was at that time.
 */
#ifndef MPS_WINDOW_H
#define MPS_WINDOW_H

#include "state/attribution.h"

/* The accounts agree when less is between them; the core's is an acknowledgement ahead. */
#define MPS_WINDOW_SLACK (2 * 1460)
/* Beyond all windows (TCP_MAX_WINDOW << 14). */
#define MPS_WINDOW_MAX (1U << 30)

/* Of one look at the subflows; low halves of sequence numbers. */
struct mps_window {
	__u32 una;     /* oldest unacknowledged data */
	__u32 end;     /* as far as the window was granted since, if it came in time */
	__u32 segs;    /* that came in on all subflows, ever */
	bool late;     /* mps_memo.late and ... */
	bool odd;      /* ... .odd, as they were */
	bool fresh;    /* a subflow took over a window since then */
	bool missing;  /* a subflow waits for a segment */
	bool inflight; /* something is on its way, so there will be an acknowledgement */
};

/*
 * Changes with every window that a subflow takes over, but for one in 2^32: what
 * TCP writes then, mixed. una, wl1, wnd: the subflow's snd_una, snd_wl1, snd_wnd.
 */
static __always_inline __u32 mps_window_mark(__u32 una, __u32 wl1, __u32 wnd)
{
	return una * 0x9e3779b1U + wl1 * 0x85ebca77U + wnd * 0xc2b2ae3dU;
}

static __always_inline struct mps_window mps_window_begin(const struct mps_memo *m, __u32 una)
{
	struct mps_window w = { .una = una, .late = m->late, .odd = m->odd };

	/* at first it is not known, and may have been left behind */
	w.end = m->wnd_end - una < MPS_WINDOW_MAX ? m->wnd_end : una;
	return w;
}

/*
 * One subflow: has it taken one over since the last look? Or with the segment before: the
 * core asks for more data, more than once perhaps, before it moves snd_una, so what an
 * acknowledgement tells is known after it. wnd: bytes; segs: that came in on this subflow.
 */
MPS_FN __u32 mps_window_seen(struct mps_subflow_store *s MPS_ARG, struct mps_window *w MPS_ARG,
			     __u32 mark, __u32 wnd, __u32 segs)
{
	const bool fresh = s->wnd_mark != mark;
	const bool again = s->wnd_new && s->wnd_odd == w->odd;

	if ((fresh || (again && !w->late)) && mps_before(w->end, w->una + wnd))
		w->end = w->una + wnd;
	s->wnd_mark = mark;
	s->wnd_new = fresh || again;
	s->wnd_odd = fresh ? !w->odd : w->odd;
	w->fresh |= fresh;
	w->segs += segs;
	return fresh;
}

/*
 * All were seen. core: the end of the window by the core's account. After more than one
 * segment nobody knows any more where the connection was when a window was taken over: the
 * core does not ask while the window is shut or the application holds the socket's lock.
 */
MPS_FN __u32 mps_window_settle(struct mps_memo *m MPS_ARG, const struct mps_window *w MPS_ARG,
			       __u32 core)
{
	const __u32 segs = w->segs - m->segs;

	if (segs) {
		m->late = segs > 1;
		m->odd = !m->odd;
	}
	m->segs = w->segs;
	m->doubt |= w->missing;
	if (!m->late)
		m->wnd_end = w->end;
	if (!w->missing && (!m->doubt || mps_before(core, m->wnd_end + MPS_WINDOW_SLACK))) {
		m->doubt = 0;
		m->wnd_end = core;
	}
	return m->doubt;
}

/*
 * Only a glance, with nothing in doubt and no segment missing: the accounts agree. Segments that
 * came since the last look stay unseen, so the next one is late to them.
 */
static __always_inline void mps_window_glanced(struct mps_memo *m, __u32 core)
{
	m->wnd_end = core;
}

/*
 * What ends the window for who looks later, without the memo: where the core's account was not
 * in doubt before the look at hand, nothing but that; then this is out of reach.
 */
MPS_FN __u32 mps_window_for_clock(const struct mps_memo *m MPS_ARG, __u32 core)
{
	return m->doubt ? m->wnd_end : core + MPS_WINDOW_MAX;
}

/*
 * Bytes that may be assigned from `head` on: `left` by the core's account, or less. Not less
 * when nothing is in flight: then no acknowledgement would come that tells of more. unit: the
 * least that a pick hands over, as far as the core's account reaches; less than that is nothing.
 */
static __always_inline __u64 mps_window_left(const struct mps_memo *m, const struct mps_window *w,
					     __u32 head, __u64 left, __u32 unit)
{
	const __u32 granted = mps_before(head, m->wnd_end) ? m->wnd_end - head : 0;

	if (!m->doubt || !w->inflight || granted >= left)
		return left;
	return granted < unit ? 0 : granted;
}

#endif /* MPS_WINDOW_H */
