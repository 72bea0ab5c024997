! Executes cases from standard input, one after another, and says what each left: the guest of tests/differential.rs.
!
! A case is 1024 bytes, and so is what it left, in the same places:
!      0  r0 to r31 (%g7 is the driver's)
!    256  d0 to d62
!    512  fsr, ccr, gsr, y, asi
!    576  sixteen words, which are executed
!    640  384 bytes of memory, at `scratch`
! The program needs no stack, so that a case may have any value in any register.

	.set	LENGTH, 1024
	.register %g2, #ignore
	.register %g3, #ignore
	.register %g6, #ignore
	.register %g7, #ignore

	.section .text
	.globl	_start
_start:
1:	set	input, %l0
	set	LENGTH, %l1
2:	mov	0, %o0			! read, until all of a case is there
	mov	%l0, %o1
	mov	%l1, %o2
	mov	3, %g1
	ta	0x6d
	bcs,pn	%xcc, finish
	nop
	brz,pn	%o0, finish
	add	%l0, %o0, %l0
	subcc	%l1, %o0, %l1
	bne,pt	%xcc, 2b
	nop

	set	input + 576, %o0	! the words
	set	code, %o1
	mov	64, %o2
3:	subcc	%o2, 8, %o2
	ldx	[%o0 + %o2], %o3
	stx	%o3, [%o1 + %o2]
	add	%o1, %o2, %o4
	bne,pt	%xcc, 3b
	flush	%o4

	set	input + 640, %o0	! the memory
	set	scratch, %o1
	mov	384, %o2
4:	subcc	%o2, 8, %o2
	ldx	[%o0 + %o2], %o3
	bne,pt	%xcc, 4b
	stx	%o3, [%o1 + %o2]

	set	zeros, %g7			! QEMU keeps what fstod raised for the instruction after it
	ldx	[%g7], %fsr
	ldd	[%g7], %f0
	faddd	%f0, %f0, %f0

	set	input, %g7
	.irp	n, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34, 36, 38, 40, 42, 44, 46, 48, 50, 52, 54, 56, 58, 60, 62
	ldd	[%g7 + 256 + 4 * \n], %f\n
	.endr
	ldx	[%g7 + 512], %fsr
	ldx	[%g7 + 528], %o0
	wr	%o0, 0, %gsr
	ldx	[%g7 + 536], %o0
	wr	%o0, 0, %y
	ldx	[%g7 + 544], %o0
	wr	%o0, 0, %asi
	ldx	[%g7 + 520], %o0
	wr	%o0, 0, %ccr
	.irp	n, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	ldx	[%g7 + 8 * \n], %r\n
	.endr
	sethi	%hi(code), %g7
	jmpl	%g7 + %lo(code), %g0
	nop

after:	sethi	%hi(output), %g7
	or	%g7, %lo(output), %g7
	.irp	n, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	stx	%r\n, [%g7 + 8 * \n]
	.endr
	rd	%ccr, %o0
	stx	%o0, [%g7 + 520]
	rd	%gsr, %o0
	stx	%o0, [%g7 + 528]
	rd	%y, %o0
	stx	%o0, [%g7 + 536]
	rd	%asi, %o0
	stx	%o0, [%g7 + 544]
	stx	%fsr, [%g7 + 512]
	.irp	n, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34, 36, 38, 40, 42, 44, 46, 48, 50, 52, 54, 56, 58, 60, 62
	std	%f\n, [%g7 + 256 + 4 * \n]
	.endr
	set	scratch, %o0
	set	output + 640, %o1
	mov	384, %o2
5:	subcc	%o2, 8, %o2
	ldx	[%o0 + %o2], %o3
	bne,pt	%xcc, 5b
	stx	%o3, [%o1 + %o2]

	mov	1, %o0			! write
	set	output, %o1
	set	LENGTH, %o2
	mov	4, %g1
	ta	0x6d
	ba,a	1b
	nop

finish:	mov	0, %o0
	mov	1, %g1
	ta	0x6d

	.section .code, "awx"		! 0x200000, apart from what writes it
code:	.skip	64
	sethi	%hi(after), %g7
	jmpl	%g7 + %lo(after), %g0
	nop

	.section .scratch, "aw"		! 0x300000
scratch: .skip	384

	.section .data
	.align	64
zeros:	.xword	0
input:	.skip	LENGTH
output:	.skip	LENGTH
