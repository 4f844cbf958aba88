// A kernel in a section that can be written and run, and that is larger than
// what the other sections take.
__asm__(
    ".section .both,\"awx\",@progbits\n"
    ".globl writable_code\n"
    ".type writable_code,@function\n"
    "writable_code:\n"
    "  ret\n"
    "  .zero 1048576\n"
    ".text\n");
