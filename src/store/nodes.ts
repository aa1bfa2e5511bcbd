/** The living daemons on one store, as one of them sees them. */
export interface Nodes {
  /** Number of living nodes; at least 1, as the node that asks is one. */
  alive(): number;
  /** Place of this node among the living ones, from 0. All of them agree on the order. */
  rank(): number;
  /** Whether this node does the work that one node does for all, such as sweeping a bucket. */
  isLeader(): boolean;
  /**
   * Calls a listener after each change of the number, the rank or the leader.
   *
   * @returns a function that removes the listener
   */
  onChange(listener: () => void): () => void;
}

/** The only daemon on its store. */
export const SINGLE_NODE: Nodes = {
  alive: () => 1,
  rank: () => 0,
  isLeader: () => true,
  onChange: () => () => {},
};

/**
 * A node's part of a limit that holds for all nodes together. The first nodes get one more where the
 * division has a remainder. With more nodes than the limit has units each may use one.
 */
export function shareOf(limit: number, nodes: Nodes): number {
  const alive = nodes.alive();
  const remainder = nodes.rank() < limit % alive ? 1 : 0;
  return Math.max(1, Math.floor(limit / alive) + remainder);
}

/** Whether other nodes take over what this one leaves while it drains. */
export function handsOver(store: { readonly isShared: boolean; readonly nodes: Nodes }): boolean {
  return store.isShared && store.nodes.alive() > 1;
}

/** One running daemon on a store. Times are milliseconds since the epoch. */
export interface NodeRecord {
  /** Drawn when the daemon opens the store, and again when its lease was lost. */
  readonly id: string;
  /** Host and port. */
  readonly name: string;
  readonly version: string;
  readonly startedAt: number;
  /** End of the lease, which the node extends. Other nodes take over its claims afterwards. */
  readonly aliveUntil: number;
  /** Number of tasks that it processes. */
  readonly claims: number;
}
