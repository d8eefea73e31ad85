000000000000c730 <__pyx_f_6skgoss_7_engine_8training_9histogram_accumulate>:
    c730:	push   %r15
    c732:	push   %r14
    c734:	push   %r13
    c736:	push   %r12
    c738:	push   %rbp
    c739:	push   %rbx
    c73a:	sub    $0x108,%rsp
    c741:	mov    (%rsi),%eax
    c743:	mov    0x70(%rdi),%ebp
    c746:	mov    0x140(%rsp),%rbx
    c74e:	mov    %rdx,0xb8(%rsp)
    c756:	mov    %rdi,0x68(%rsp)
    c75b:	lea    0x1f(%rbx),%rdx
    c75f:	mov    %rsi,0x38(%rsp)
    c764:	and    $0xffffffffffffffe0,%rdx
    c768:	test   %eax,%eax
    c76a:	mov    %rcx,0x70(%rsp)
    c76f:	cmovne %rbx,%rdx
    c773:	mov    %r8,0xc8(%rsp)
    c77b:	mov    %r9d,0x8c(%rsp)
    c783:	mov    %rdx,0x140(%rsp)
    c78b:	test   %ebp,%ebp
    c78d:	jg     c96d <__pyx_f_6skgoss_7_engine_8training_9histogram_accumulate+0x23d>
    c793:	mov    0x68(%rsp),%rbx
    c798:	cmpq   $0x0,0xc0(%rbx)
    c7a0:	je     c95b <__pyx_f_6skgoss_7_engine_8training_9histogram_accumulate+0x22b>
    c7a6:	mov    0x38(%rsp),%rsi
    c7ab:	mov    0x140(%rsp),%rdi
    c7b3:	movslq 0xc(%rsi),%rax
    c7b7:	imul   0xe8(%rbx),%rax
    c7bf:	mov    0x40(%rsi),%rcx
    c7c3:	lea    (%rdi,%rax,8),%r15
    c7c7:	cmp    %rcx,0x70(%rsp)
    c7cc:	jle    cdd5 <__pyx_f_6skgoss_7_engine_8training_9histogram_accumulate+0x6a5>
    c7d2:	cmpq   $0x0,0xe0(%rbx)
    c7da:	jle    cdd5 <__pyx_f_6skgoss_7_engine_8training_9histogram_accumulate+0x6a5>
    c7e0:	mov    0x8c(%rsp),%esi
    c7e7:	test   %esi,%esi
    c7e9:	jne    db42 <__pyx_f_6skgoss_7_engine_8training_9histogram_accumulate+0x1412>
    c7ef:	mov    0x68(%rsp),%r14
    c7f4:	mov    0x148(%rsp),%r12
    c7fc:	xor    %ebx,%ebx
    c7fe:	mov    $0x1,%r13d
    c804:	mov    0xb8(%rsp),%rax
    c80c:	mov    0x38(%rsp),%rsi
    c811:	mov    %r15,%r8
    c814:	mov    %r14,%rdi
    c817:	lea    (%rax,%rbx,8),%rax
    c81b:	mov    %rax,%rdx
    c81e:	call   7f80 <__pyx_f_6skgoss_7_engine_8training_9histogram_add_entries>
    c823:	mov    0xe0(%r14),%rax
    c82a:	mov    0xd8(%r14),%rdx
    c831:	test   %rax,%rax
    c834:	jle    c900 <__pyx_f_6skgoss_7_engine_8training_9histogram_accumulate+0x1d0>
    c83a:	mov    (%r12),%rdi
    c83e:	mov    0x10(%r12),%r11
    c843:	lea    (%rdx,%rax,4),%rax
    c847:	mov    %rdx,%r8
    c84a:	mov    %rax,0x20(%rsp)
    c84f:	mov    0x8(%r12),%rbp
    c854:	mov    %rdi,0x18(%rsp)
    c859:	mov    %r11,0x28(%rsp)
    c85e:	mov    0x38(%rsp),%rsi
    c863:	mov    (%r8),%edi
    c866:	mov    0x28(%rsi),%r9d
    c86a:	mov    0x1c(%rsi),%r11d
    c86e:	mov    %r13,%rsi
    c871:	lea    0x0(,%rdi,8),%rax
    c879:	lea    (%r15,%rax,1),%r10
    c87d:	mov    %r9d,%ecx
    c880:	mov    (%r10),%rdx
    c883:	mov    %r11d,0x8(%rsp)
    c888:	shl    %cl,%rsi
    c88b:	mov    %rsi,%rcx
    c88e:	sub    $0x1,%rcx
    c892:	mov    %rcx,%rsi
    c895:	mov    0x38(%rsp),%rcx
    c89a:	and    %rdx,%rsi
    c89d:	mov    0x8(%rcx),%ecx
    c8a0:	mov    %rsi,0x10(%rsp)
    c8a5:	test   %ecx,%ecx
    c8a7:	jne    c8c5 <__pyx_f_6skgoss_7_engine_8training_9histogram_accumulate+0x195>
    c8a9:	mov    %r11d,%ecx
    c8ac:	mov    %r13,%rsi
    c8af:	mov    %rdx,%r11
    c8b2:	sub    %r9d,%ecx
    c8b5:	shl    %cl,%rsi
    c8b8:	mov    %r9d,%ecx
    c8bb:	sub    $0x1,%rsi
    c8bf:	sar    %cl,%r11
    c8c2:	and    %r11,%rsi
    c8c5:	movzbl 0x8(%rsp),%ecx
    c8ca:	add    $0x4,%r8
    c8ce:	sar    %cl,%rdx
    c8d1:	mov    0x18(%rsp),%rcx
    c8d6:	add    %rdx,(%rcx,%rax,1)
    c8da:	add    %rsi,0x0(%rbp,%rax,1)
    c8df:	mov    0x28(%rsp),%rsi
    c8e4:	mov    0x10(%rsp),%eax
    c8e8:	add    %eax,(%rsi,%rdi,4)
    c8eb:	mov    0x20(%rsp),%rax
    c8f0:	movq   $0x0,(%r10)
    c8f7:	cmp    %rax,%r8
    c8fa:	jne    c85e <__pyx_f_6skgoss_7_engine_8training_9histogram_accumulate+0x12e>
    c900:	mov    0x38(%rsp),%rax
    c905:	mov    0x40(%rax),%rcx
    c909:	mov    0x70(%rsp),%rax
    c90e:	add    %rcx,%rbx
    c911:	sub    %rbx,%rax
    c914:	cmp    %rcx,%rax
    c917:	jg     c804 <__pyx_f_6skgoss_7_engine_8training_9histogram_accumulate+0xd4>
    c91d:	movl   $0x0,0x8c(%rsp)
    c928:	mov    0x38(%rsp),%rdi
    c92d:	mov    (%rdi),%ebp
    c92f:	test   %ebp,%ebp
    c931:	je     cdeb <__pyx_f_6skgoss_7_engine_8training_9histogram_accumulate+0x6bb>
    c937:	mov    0xb8(%rsp),%rsi
    c93f:	mov    %r15,%r8
    c942:	mov    %rax,%rcx
    c945:	lea    (%rsi,%rbx,8),%rdx
    c949:	mov    %rdi,%rsi
    c94c:	mov    0x68(%rsp),%rdi
    c951:	call   7f80 <__pyx_f_6skgoss_7_engine_8training_9histogram_add_entries>
    c956:	jmp    ce1d <__pyx_f_6skgoss_7_engine_8training_9histogram_accumulate+0x6ed>
    c95b:	add    $0x108,%rsp
    c962:	pop    %rbx
    c963:	pop    %rbp
    c964:	pop    %r12
    c966:	pop    %r13
    c968:	pop    %r14
    c96a:	pop    %r15
    c96c:	ret
