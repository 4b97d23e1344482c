// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Compound TCP+: Compound whose loss window shrinks by half a segment a round, and does not grow, while the delay window is zero.
 *
 * H. Oda, H. Hisamatsu and H. Noborio, "Compound TCP+: A Solution for Compound TCP Unfairness in Wireless LAN", 2012, equations
 * 1 to 6 and 8. Windows are counted in 1/1024 segments here, and sent^0.8 is a fifth root of whole numbers, to 1/16 segment.
 * In a scenario: cc = "compound-plus", whose defaults this follows.
 */
#include "tcp.h"

char _license[] SEC("license") = "Dual MIT/GPL";

#define SHIFT 10
#define ONE (1 << SHIFT)
#define GAMMA 30        /* segments in the queue at which the delay window shrinks */
#define MOST_SENT 1500  /* windows beyond count as this in the power */
#define MOST_WINDOW (1 << 20)

struct compound_plus {
	__u32 cwnd;      /* loss window [1/1024 segments] */
	__u32 dwnd;      /* delay window */
	__u32 cwnd_before, dwnd_before; /* the loss */
	__u32 round_end;
	__u32 sent;      /* in flight when the round began [segments] */
	__u32 base_us;   /* smallest round-trip time of all */
	__u32 samples;   /* of the round */
	__u64 sum_us;    /* of the round */
	bool fresh;      /* a round begins with the next ACK */
};

static inline __u32 swnd(const struct compound_plus *ca)
{
	return ca->cwnd + ca->dwnd;
}

static inline void show(struct tcp_sock *tp, const struct compound_plus *ca)
{
	tp->snd_cwnd = max_of(swnd(ca) >> SHIFT, 1);
}

SEC("struct_ops/init")
void BPF_PROG(cp_init, struct sock *sk)
{
	struct compound_plus *ca = ca_of(sk);

	ca->cwnd = min_of(tcp_sk(sk)->snd_cwnd, MOST_WINDOW) << SHIFT;
	ca->dwnd = 0;
	ca->cwnd_before = ca->cwnd;
	ca->dwnd_before = 0;
	ca->round_end = 0;
	ca->sent = 0;
	ca->base_us = 0xffffffff;
	ca->samples = 0;
	ca->sum_us = 0;
	ca->fresh = true;
}

SEC("struct_ops/pkts_acked")
void BPF_PROG(cp_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct compound_plus *ca = ca_of(sk);

	if (sample->rtt_us <= 0)
		return;
	ca->base_us = min_of(ca->base_us, sample->rtt_us);
	ca->sum_us += sample->rtt_us;
	ca->samples++;
}

static inline void begin_round(const struct tcp_sock *tp, struct compound_plus *ca, __u32 acked)
{
	ca->round_end = tp->snd_nxt;
	ca->sent = tp->packets_out + acked;
	ca->samples = 0;
	ca->sum_us = 0;
}

/* sent^0.8 in 1/16 segments: the largest y with y^5 <= sent^4 16^5. */
static inline __u32 power(__u64 sent)
{
	__u64 target, low = 0, y;
	int bit;

	if (sent > MOST_SENT)
		sent = MOST_SENT;
	target = sent * sent * sent * sent << 20;
	for (bit = 12; bit >= 0; bit--) {
		y = low | 1ULL << bit;
		if (y * y * y * y * y <= target)
			low = y;
	}
	return low;
}

/* Equations 4 to 6, and 8. */
static inline void decide(struct compound_plus *ca)
{
	__u64 rtt, waiting;

	if (ca->samples == 0)
		return;
	rtt = ca->sum_us / ca->samples;
	/* diff = sent (1 - base / rtt) */
	waiting = rtt > ca->base_us ? ((__u64)ca->sent << SHIFT) * (rtt - ca->base_us) / rtt : 0;
	if (waiting < GAMMA * ONE) {
		/* alpha sent^0.8 - 1, alpha = 1/8: from 1/16 to 1/1024 segments */
		__u32 grown = power(ca->sent) * (ONE / 16) / 8;

		if (grown > ONE && ca->dwnd < (__u32)MOST_WINDOW << SHIFT >> 1)
			ca->dwnd += grown - ONE;
	} else {
		ca->dwnd = ca->dwnd > waiting ? ca->dwnd - waiting : 0;
	}
	if (ca->dwnd == 0)
		ca->cwnd = max_of(ca->cwnd - min_of(ca->cwnd, ONE / 2), ONE);
}

SEC("struct_ops/cong_avoid")
void BPF_PROG(cp_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct compound_plus *ca = ca_of(sk);
	bool limited = uses_window(tp);

	if (ca->fresh) {
		ca->fresh = false;
		begin_round(tp, ca, acked);
	} else if (after(ack, ca->round_end)) {
		if (!in_slow_start(tp) && limited)
			decide(ca);
		begin_round(tp, ca, acked);
	}
	if (limited && swnd(ca) < (__u32)MOST_WINDOW << SHIFT >> 1) {
		if (in_slow_start(tp))
			ca->cwnd += acked << SHIFT;
		else if (ca->dwnd > 0 && swnd(ca) > 0)
			ca->cwnd += ((__u64)acked << 2 * SHIFT) / swnd(ca);
	}
	show(tp, ca);
}

/* Equation 3: both from the windows before the loss. */
SEC("struct_ops/ssthresh")
__u32 BPF_PROG(cp_ssthresh, struct sock *sk)
{
	struct compound_plus *ca = ca_of(sk);
	__u32 kept = swnd(ca) / 2;

	ca->cwnd_before = ca->cwnd;
	ca->dwnd_before = ca->dwnd;
	ca->cwnd /= 2;
	ca->dwnd = kept > ca->cwnd ? kept - ca->cwnd : 0;
	ca->fresh = true;
	return max_of(kept >> SHIFT, 2);
}

SEC("struct_ops/set_state")
void BPF_PROG(cp_set_state, struct sock *sk, __u8 state)
{
	struct compound_plus *ca = ca_of(sk);

	if (state != TCP_CA_Loss)
		return;
	ca->cwnd = ONE; /* a timeout */
	ca->dwnd = 0;
	ca->fresh = true;
}

SEC("struct_ops/undo_cwnd")
__u32 BPF_PROG(cp_undo_cwnd, struct sock *sk)
{
	struct compound_plus *ca = ca_of(sk);

	ca->cwnd = max_of(ca->cwnd, ca->cwnd_before);
	ca->dwnd = max_of(ca->dwnd, ca->dwnd_before);
	return max_of(swnd(ca) >> SHIFT, 1);
}

SEC(".struct_ops")
struct tcp_congestion_ops compound_plus = {
	.init = (void *)cp_init,
	.pkts_acked = (void *)cp_pkts_acked,
	.cong_avoid = (void *)cp_cong_avoid,
	.ssthresh = (void *)cp_ssthresh,
	.set_state = (void *)cp_set_state,
	.undo_cwnd = (void *)cp_undo_cwnd,
	.name = "compound_plus",
};
