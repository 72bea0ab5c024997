! What C can't say: the T4's instructions, which work on floating-point registers, and those on register windows.

#define STACK_BIAS 2047
#define FRAME 176

	.register %g2, #scratch
	.register %g3, #scratch

	.text

! Two rounds of AES-128 with the keys at %f\k to %f\k+6: in f0, f2; out f0, f2.
	.macro ROUNDS k0 k1 k2 k3 last
	aes_eround01	%f\k0, %f0, %f2, %f4
	aes_eround23	%f\k1, %f0, %f2, %f2
	aes_eround01\last %f\k2, %f4, %f2, %f0
	aes_eround23\last %f\k3, %f4, %f2, %f2
	.endm

	.macro EXPAND index k0 k1 k2 k3
	aes_kexpand1	%f\k0, %f\k1, \index, %f\k2
	aes_kexpand2	%f\k1, %f\k2, %f\k3
	.endm

! void t4_aes128_cbc_encrypt(key, iv, from, to, blocks): all aligned to 8, one block at least.
	.globl	t4_aes128_cbc_encrypt
	.type	t4_aes128_cbc_encrypt, #function
t4_aes128_cbc_encrypt:
	ldd	[%o0], %f16
	ldd	[%o0 + 8], %f18
	EXPAND	0 16 18 20 22
	EXPAND	1 20 22 24 26
	EXPAND	2 24 26 28 30
	EXPAND	3 28 30 32 34
	EXPAND	4 32 34 36 38
	EXPAND	5 36 38 40 42
	EXPAND	6 40 42 44 46
	EXPAND	7 44 46 48 50
	EXPAND	8 48 50 52 54
	EXPAND	9 52 54 56 58
	ldd	[%o1], %f0
	ldd	[%o1 + 8], %f2
1:	ldd	[%o2], %f4
	ldd	[%o2 + 8], %f6
	add	%o2, 16, %o2
	fxor	%f4, %f0, %f0
	fxor	%f6, %f2, %f2
	fxor	%f16, %f0, %f0
	fxor	%f18, %f2, %f2
	ROUNDS	20 22 24 26
	ROUNDS	28 30 32 34
	ROUNDS	36 38 40 42
	ROUNDS	44 46 48 50
	ROUNDS	52 54 56 58 _l
	std	%f0, [%o3]
	std	%f2, [%o3 + 8]
	subcc	%o4, 1, %o4
	bne,pt	%xcc, 1b
	 add	%o3, 16, %o3
	retl
	 nop
	.size	t4_aes128_cbc_encrypt, . - t4_aes128_cbc_encrypt

! void t4_md5, t4_sha1, t4_sha256(state, block): one block into a state of four, five or eight words.
	.macro HASH name
	.globl	t4_\name
	.type	t4_\name, #function
t4_\name:
	ld	[%o0], %f0
	ld	[%o0 + 4], %f1
	ld	[%o0 + 8], %f2
	ld	[%o0 + 12], %f3
	ld	[%o0 + 16], %f4
	ld	[%o0 + 20], %f5
	ld	[%o0 + 24], %f6
	ld	[%o0 + 28], %f7
	ldd	[%o1], %f8
	ldd	[%o1 + 8], %f10
	ldd	[%o1 + 16], %f12
	ldd	[%o1 + 24], %f14
	ldd	[%o1 + 32], %f16
	ldd	[%o1 + 40], %f18
	ldd	[%o1 + 48], %f20
	ldd	[%o1 + 56], %f22
	\name
	st	%f0, [%o0]
	st	%f1, [%o0 + 4]
	st	%f2, [%o0 + 8]
	st	%f3, [%o0 + 12]
	st	%f4, [%o0 + 16]
	st	%f5, [%o0 + 20]
	st	%f6, [%o0 + 24]
	retl
	 st	%f7, [%o0 + 28]
	.size	t4_\name, . - t4_\name
	.endm

	HASH	md5
	HASH	sha1
	HASH	sha256

! The eight locals, and six outs, from or to %g1 + \at.
	.macro LOAD_LOCALS p at
	ldx	[\p + \at], %l0
	ldx	[\p + \at + 8], %l1
	ldx	[\p + \at + 16], %l2
	ldx	[\p + \at + 24], %l3
	ldx	[\p + \at + 32], %l4
	ldx	[\p + \at + 40], %l5
	ldx	[\p + \at + 48], %l6
	ldx	[\p + \at + 56], %l7
	.endm

	.macro LOAD_OUTS p at
	ldx	[\p + \at], %o0
	ldx	[\p + \at + 8], %o1
	ldx	[\p + \at + 16], %o2
	ldx	[\p + \at + 24], %o3
	ldx	[\p + \at + 32], %o4
	ldx	[\p + \at + 40], %o5
	.endm

! uint64_t t4_montmul_16, t4_montmul_32, t4_montsqr_16, t4_montsqr_32(a, b, n, n0 in memory): a = a * b / 2^(64 words) mod n; b
! is not looked at by montsqr. The operands lie in seven windows, this one being the last to be returned to. Fewer than 32
! words leave the higher registers as they are: so a is loaded whole from memory that has 32 words for it, and so are b and n.
! Not zero when the machine refused (floating-point condition code 3 is "unordered").
	.macro MONTGOMERY name instruction words
	.globl	\name
	.type	\name, #function
\name:
	save	%sp, -FRAME, %sp
	mov	%i0, %g1
	mov	%i1, %g2
	mov	%i2, %g3
	ldd	[%i3], %f60
	save	%sp, -FRAME, %sp	! window 5: a
	LOAD_LOCALS %g1, 0
	LOAD_OUTS %g1, 64
	save	%sp, -FRAME, %sp	! window 4: n
	LOAD_LOCALS %g3, 0
	LOAD_OUTS %g3, 64
	save	%sp, -FRAME, %sp	! window 3: n
	LOAD_LOCALS %g3, 112
	LOAD_OUTS %g3, 176
	save	%sp, -FRAME, %sp	! window 2: the last of n, the first of b
	ldx	[%g3 + 224], %l0
	ldx	[%g3 + 232], %l1
	ldx	[%g3 + 240], %l2
	ldx	[%g3 + 248], %l3
	LOAD_OUTS %g2, 0
	save	%sp, -FRAME, %sp	! window 1: b
	LOAD_LOCALS %g2, 48
	LOAD_OUTS %g2, 112
	save	%sp, -FRAME, %sp	! window 0: b
	LOAD_LOCALS %g2, 160
	ldx	[%g2 + 224], %o0
	ldx	[%g2 + 232], %o1
	ldx	[%g2 + 240], %o2
	ldx	[%g2 + 248], %o3
	ldd	[%g1 + 112], %f24
	ldd	[%g1 + 120], %f26
	ldd	[%g1 + 128], %f28
	ldd	[%g1 + 136], %f30
	ldd	[%g1 + 144], %f32
	ldd	[%g1 + 152], %f34
	ldd	[%g1 + 160], %f36
	ldd	[%g1 + 168], %f38
	ldd	[%g1 + 176], %f40
	ldd	[%g1 + 184], %f42
	ldd	[%g1 + 192], %f44
	ldd	[%g1 + 200], %f46
	ldd	[%g1 + 208], %f48
	ldd	[%g1 + 216], %f50
	ldd	[%g1 + 224], %f52
	ldd	[%g1 + 232], %f54
	ldd	[%g1 + 240], %f56
	ldd	[%g1 + 248], %f58
	\instruction (\words - 1)
	fbu,pn	%fcc3, 2f
	 mov	1, %g2
	mov	0, %g2
	std	%f24, [%g1 + 112]
	std	%f26, [%g1 + 120]
	std	%f28, [%g1 + 128]
	std	%f30, [%g1 + 136]
	std	%f32, [%g1 + 144]
	std	%f34, [%g1 + 152]
	std	%f36, [%g1 + 160]
	std	%f38, [%g1 + 168]
	std	%f40, [%g1 + 176]
	std	%f42, [%g1 + 184]
	std	%f44, [%g1 + 192]
	std	%f46, [%g1 + 200]
	std	%f48, [%g1 + 208]
	std	%f50, [%g1 + 216]
	std	%f52, [%g1 + 224]
	std	%f54, [%g1 + 232]
	std	%f56, [%g1 + 240]
	std	%f58, [%g1 + 248]
2:	restore
	restore
	restore
	restore
	restore
	stx	%l0, [%g1]
	stx	%l1, [%g1 + 8]
	stx	%l2, [%g1 + 16]
	stx	%l3, [%g1 + 24]
	stx	%l4, [%g1 + 32]
	stx	%l5, [%g1 + 40]
	stx	%l6, [%g1 + 48]
	stx	%l7, [%g1 + 56]
	stx	%o0, [%g1 + 64]
	stx	%o1, [%g1 + 72]
	stx	%o2, [%g1 + 80]
	stx	%o3, [%g1 + 88]
	stx	%o4, [%g1 + 96]
	stx	%o5, [%g1 + 104]
	restore
	ret
	 restore %g0, %g2, %o0
	.size	\name, . - \name
	.endm

	MONTGOMERY t4_montmul_16 montmul 16
	MONTGOMERY t4_montmul_32 montmul 32
	MONTGOMERY t4_montsqr_16 montsqr 16
	MONTGOMERY t4_montsqr_32 montsqr 32

	.section .note.GNU-stack, "", @progbits
