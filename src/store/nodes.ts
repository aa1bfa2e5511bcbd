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

/** Nodes that search as often as one alone; more of them share these searches. */
const SEARCHING_NODES = 4;
/** Longest interval of the searches of one node, in milliseconds. */
const MAX_SEARCH_MS = 15_000;
/** Average time between two nodes that react to the same hint, in milliseconds. */
const HINT_MS = 2;

/**
 * Interval between two searches of one node for work that any node may find. All nodes together search about as often
 * as four, because each search costs the database the more the more nodes there are.
 */
export function searchInterval(milliseconds: number, nodes: Nodes): number {
  const interval = (milliseconds * nodes.alive()) / SEARCHING_NODES;
  return Math.max(milliseconds, Math.min(MAX_SEARCH_MS, interval));
}

/** Milliseconds to wait after a hint that all nodes get: the first nodes take the work, and hints become fewer searches. */
export function hintDelay(nodes: Nodes): number {
  const others = nodes.alive() - 1;
  return others === 0 ? 0 : Math.random() * others * HINT_MS;
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
