/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What the congestion controls here need of Linux's TCP. Only the members that are used stand here: libbpf finds where they
 * lie in the running kernel (CO-RE), so nothing of a kernel's headers is needed.
 */
#ifndef WIFAIR_TCP_H
#define WIFAIR_TCP_H

#include <linux/types.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sock {
	int sk_err;
};

struct inet_connection_sock {
	__u64 icsk_ca_priv[13];
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	__u64 bytes_sent;
	__u32 snd_cwnd;
	__u32 snd_ssthresh;
	__u32 snd_nxt;
	__u32 snd_una;
	__u32 packets_out;
	__u32 max_packets_out;
	__u32 lsndtime;
	__u8 is_cwnd_limited : 1;
};

struct ack_sample {
	__u32 pkts_acked;
	__s32 rtt_us;
	__u32 in_flight;
};

struct rate_sample;
union tcp_cc_info;

enum tcp_ca_event { CA_EVENT_TX_START, CA_EVENT_CWND_RESTART };

enum tcp_ca_state { TCP_CA_Open, TCP_CA_Disorder, TCP_CA_CWR, TCP_CA_Recovery, TCP_CA_Loss };

struct tcp_congestion_ops {
	__u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, __u32 ack, __u32 acked);
	void (*set_state)(struct sock *sk, __u8 new_state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event ev);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	__u32 (*undo_cwnd)(struct sock *sk);
	void (*init)(struct sock *sk);
	char name[16];
};

#pragma clang attribute pop

/* Functions of the kernel that congestion controls may call. */
extern __u32 tcp_reno_ssthresh(struct sock *sk) __ksym;
extern __u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;
extern void tcp_reno_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __ksym;
extern __u32 tcp_slow_start(struct tcp_sock *tp, __u32 acked) __ksym;

static inline struct tcp_sock *tcp_sk(const struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

/* The state of a congestion control, at most 104 bytes. */
static inline void *ca_of(const struct sock *sk)
{
	return (void *)tcp_sk(sk)->inet_conn.icsk_ca_priv;
}

/* Whether sequence number a is behind b. */
static inline bool after(__u32 a, __u32 b)
{
	return (__s32)(a - b) > 0;
}

static inline __u32 min_of(__u32 a, __u32 b)
{
	return a < b ? a : b;
}

static inline __u32 max_of(__u32 a, __u32 b)
{
	return a > b ? a : b;
}

static inline bool in_slow_start(const struct tcp_sock *tp)
{
	return tp->snd_cwnd < tp->snd_ssthresh;
}

/* Whether the window was used up, so that it may grow (RFC 7661; in slow start up to twice what was used). */
static inline bool uses_window(const struct tcp_sock *tp)
{
	if (in_slow_start(tp))
		return tp->snd_cwnd < 2 * tp->max_packets_out;
	return BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited);
}

#endif
