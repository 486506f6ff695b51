/* SPDX-License-Identifier: BSD-2-Clause */
/* The first sector of a disk from which a PC starts Linux: behind it are the
 * kernel and its initramfs, as they are.  boot_disk.sh says where:
 *
 *   SETUP   sectors of the kernel that run in real mode
 *   KERNEL  pieces of 64 sectors in the rest of the kernel
 *   INITRD  sector at which the initramfs begins; BYTES, PIECES: its size
 *   ARGS    the kernel's command line
 *
 * Pieces go below 640 KiB, and from there by the BIOS to where they belong. */
	.code16
	.globl _start

	.set HERE, 0x7c0	/* segment of this sector */
	.set PIECE, 64		/* sectors */
	.set BUFFER, 0x1000	/* segment */
	.set REAL, 0x9000	/* segment, where Linux wants its setup */
	.set LINE, 0xe000	/* offset there */
	.set HIGH, 0x100000	/* the rest of the kernel */
	.set DISK, 0x7000000	/* the initramfs: of 128 MiB the last 16 */

_start:
	mov $HERE, %ax
	mov %ax, %ds
	mov %ax, %es
	xor %ax, %ax
	mov %ax, %ss
	mov $0x7c00, %sp
	mov %dl, drive

	/* One piece has all of the setup; the buffer is there for once. */
	movw $REAL, packet + 6
	call read
	movw $BUFFER, packet + 6

	movl $(1 + SETUP), packet + 8
	movl $HIGH, %edi
	movl $KERNEL, %ecx
	call load
	movl $INITRD, packet + 8
	movl $DISK, %edi
	movl $PIECES, %ecx
	call load

	mov $REAL, %ax
	mov %ax, %es
	mov $args, %si
	mov $LINE, %di
	mov $(args_end - args), %cx
	rep movsb
	movb $0xff, %es:0x210	/* a loader without a number */
	orb $0x80, %es:0x211	/* there is a heap, */
	movw $(LINE - 0x200), %es:0x224	/* up to here */
	movl $DISK, %es:0x218
	movl $BYTES, %es:0x21c
	movl $(REAL * 16 + LINE), %es:0x228

	cli
	mov %ax, %ds
	mov %ax, %fs
	mov %ax, %gs
	mov %ax, %ss
	mov $LINE, %sp
	ljmp $(REAL + 0x20), $0

/* %ecx pieces to %edi. */
load:
	call read
	mov %edi, %eax
	mov %ax, target + 2
	shr $16, %eax
	mov %al, target + 4
	mov %ah, target + 7
	pushal
	mov $table, %si
	mov $(PIECE * 256), %cx	/* words */
	mov $0x87, %ah
	int $0x15
	popal
	jc stop
	addl $PIECE, packet + 8
	addl $(PIECE * 512), %edi
	decl %ecx
	jnz load
	ret

read:
	pushal
	mov $packet, %si
	mov drive, %dl
	mov $0x42, %ah
	int $0x13
	popal
	jc stop
	ret

stop:
	hlt
	jmp stop

drive:	.byte 0
packet:	.byte 16, 0
	.word PIECE, 0, BUFFER
	.quad 1
table:	.quad 0, 0
	.word 0xffff, (BUFFER << 4) & 0xffff
	.byte BUFFER >> 12, 0x93, 0, 0
target:	.word 0xffff, 0
	.byte 0, 0x93, 0, 0
	.quad 0, 0
args:	.asciz ARGS
args_end:
	.org 510
	.word 0xaa55
