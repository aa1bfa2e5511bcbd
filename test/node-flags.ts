const [major = 0] = process.versions.node.split('.').map(Number);

/**
 * Flags of Node for processes of tests. Most live for a second, in which V8 optimizes functions whose calls do not
 * repay it: with the flag, a start of the daemon takes 0.43 instead of 0.52 s of CPU. Long loops are still optimized.
 * Node 24 has no such flag, and its middle compiler no such cost.
 */
export const NODE_FLAGS: readonly string[] = major < 24 ? ['--interrupt-budget=1000000'] : [];
