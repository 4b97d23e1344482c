// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Reno whose window is at most ten segments: the Reno-MaxWin10 of Y.-J. Jung and C. Y. Park, "Instantaneous Fairness of TCP in
 * Heterogeneous Traffic Wireless LAN Environments", 2016. In a scenario: cc = "reno", max_cwnd = "10 packets".
 */
#include "tcp.h"

char _license[] SEC("license") = "Dual MIT/GPL";

#define MOST 10

SEC("struct_ops/init")
void BPF_PROG(maxwin_init, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tp->snd_cwnd = min_of(tp->snd_cwnd, MOST);
}

SEC("struct_ops/cong_avoid")
void BPF_PROG(maxwin_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tcp_reno_cong_avoid(sk, ack, acked);
	if (tp->snd_cwnd > MOST)
		tp->snd_cwnd = MOST;
}

SEC("struct_ops/ssthresh")
__u32 BPF_PROG(maxwin_ssthresh, struct sock *sk)
{
	return tcp_reno_ssthresh(sk);
}

SEC("struct_ops/undo_cwnd")
__u32 BPF_PROG(maxwin_undo_cwnd, struct sock *sk)
{
	return min_of(tcp_reno_undo_cwnd(sk), MOST);
}

SEC(".struct_ops")
struct tcp_congestion_ops reno_maxwin10 = {
	.init = (void *)maxwin_init,
	.cong_avoid = (void *)maxwin_cong_avoid,
	.ssthresh = (void *)maxwin_ssthresh,
	.undo_cwnd = (void *)maxwin_undo_cwnd,
	.name = "reno_maxwin10",
};
