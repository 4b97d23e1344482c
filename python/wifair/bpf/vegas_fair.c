// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * TCP Vegas-Fair: Vegas that is bolder at the start of a session that follows a pause.
 *
 * Y.-J. Jung and C. Y. Park, "Instantaneous Fairness of TCP in Heterogeneous Traffic Wireless LAN Environments", 2016, section
 * 5.1 and Fig. 5: alpha and beta are raised by 1 and 2 from a pause of 1 s until 5000 bytes of the session have been sent. Below
 * it lies Vegas as Linux decides: by the smallest round-trip time of a round with more than two samples. In a scenario:
 * cc = "vegas-fair" with variant = "linux", which this follows.
 *
 * Departure: the kernel tells of the first segment after an idle time, not of each segment, so the end of the introduction is
 * seen with the next ACK.
 */
#include "tcp.h"

char _license[] SEC("license") = "Dual MIT/GPL";

#define ALPHA 1
#define BETA 3
#define GAMMA 1
#define ALPHA_INCREMENT 1
#define BETA_INCREMENT 2
#define PAUSE_S 1
#define INTRODUCTION 5000
#define NEVER 0x7fffffff

extern int CONFIG_HZ __kconfig __weak;

struct vegas_fair {
	__u64 begun;     /* bytes sent when the session began */
	__u32 round_end; /* the round ends with the ACK of what is sent next */
	__u32 base_us;   /* smallest round-trip time of all */
	__u32 min_us;    /* ... of the round */
	__u32 samples;   /* of the round */
	bool raised;     /* the introduction of a session */
	bool decides;    /* not while losses are repaired */
};

static inline void begin_round(const struct tcp_sock *tp, struct vegas_fair *ca)
{
	ca->round_end = tp->snd_nxt;
	ca->samples = 0;
	ca->min_us = NEVER;
}

SEC("struct_ops/init")
void BPF_PROG(vf_init, struct sock *sk)
{
	struct vegas_fair *ca = ca_of(sk);

	ca->begun = 0;
	ca->base_us = NEVER;
	ca->raised = true; /* the first segment counts as one after a pause */
	ca->decides = true;
	begin_round(tcp_sk(sk), ca);
}

SEC("struct_ops/cwnd_event")
void BPF_PROG(vf_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct vegas_fair *ca = ca_of(sk);
	__u32 hz = CONFIG_HZ ? CONFIG_HZ : 250;

	if (event != CA_EVENT_TX_START && event != CA_EVENT_CWND_RESTART)
		return;
	/* The segment that is about to be sent has not set the time of the last one yet. */
	if (event == CA_EVENT_TX_START && (__u32)bpf_jiffies64() - tp->lsndtime >= PAUSE_S * hz) {
		ca->begun = tp->bytes_sent;
		ca->raised = true;
	}
	begin_round(tp, ca);
}

SEC("struct_ops/set_state")
void BPF_PROG(vf_set_state, struct sock *sk, __u8 state)
{
	struct vegas_fair *ca = ca_of(sk);

	ca->decides = state == TCP_CA_Open;
	if (ca->decides)
		begin_round(tcp_sk(sk), ca);
}

SEC("struct_ops/pkts_acked")
void BPF_PROG(vf_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct vegas_fair *ca = ca_of(sk);
	__u32 rtt;

	if (sample->rtt_us <= 0)
		return;
	rtt = sample->rtt_us;
	ca->base_us = min_of(ca->base_us, rtt);
	ca->min_us = min_of(ca->min_us, rtt);
	ca->samples++;
}

static inline void decide(struct tcp_sock *tp, const struct vegas_fair *ca, __u32 acked)
{
	__u32 alpha = ALPHA + (ca->raised ? ALPHA_INCREMENT : 0);
	__u32 beta = BETA + (ca->raised ? BETA_INCREMENT : 0);
	__u64 cwnd = tp->snd_cwnd;
	__u64 base = ca->base_us, rtt = ca->min_us;
	/* diff = cwnd (rtt - base) / base; compared without the division. */
	__u64 diff = cwnd * (rtt - base);

	if (in_slow_start(tp)) {
		if (diff > GAMMA * base) {
			__u32 target = cwnd * base / rtt + 1;

			tp->snd_cwnd = max_of(min_of(tp->snd_cwnd, target), 2);
			tp->snd_ssthresh = max_of(min_of(tp->snd_ssthresh, tp->snd_cwnd - 1), 2);
		} else {
			tcp_slow_start(tp, acked);
		}
	} else if (diff > beta * base) {
		tp->snd_cwnd = max_of(tp->snd_cwnd - 1, 2);
		tp->snd_ssthresh = max_of(min_of(tp->snd_ssthresh, tp->snd_cwnd - 1), 2);
	} else if (diff < alpha * base) {
		tp->snd_cwnd = tp->snd_cwnd + 1;
	}
}

SEC("struct_ops/cong_avoid")
void BPF_PROG(vf_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct vegas_fair *ca = ca_of(sk);

	if (ca->raised && tp->bytes_sent - ca->begun >= INTRODUCTION)
		ca->raised = false;
	if (!ca->decides) {
		tcp_reno_cong_avoid(sk, ack, acked);
	} else if (after(ack, ca->round_end)) {
		if (ca->samples > 2 && ca->base_us != 0)
			decide(tp, ca, acked);
		else
			tcp_reno_cong_avoid(sk, ack, acked);
		begin_round(tp, ca);
	} else if (in_slow_start(tp)) {
		tcp_slow_start(tp, acked);
	}
}

SEC("struct_ops/ssthresh")
__u32 BPF_PROG(vf_ssthresh, struct sock *sk)
{
	return tcp_reno_ssthresh(sk);
}

SEC("struct_ops/undo_cwnd")
__u32 BPF_PROG(vf_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops vegas_fair = {
	.init = (void *)vf_init,
	.cwnd_event = (void *)vf_cwnd_event,
	.set_state = (void *)vf_set_state,
	.pkts_acked = (void *)vf_pkts_acked,
	.cong_avoid = (void *)vf_cong_avoid,
	.ssthresh = (void *)vf_ssthresh,
	.undo_cwnd = (void *)vf_undo_cwnd,
	.name = "vegas_fair",
};
