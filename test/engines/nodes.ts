import type { Nodes } from '../../src/store/nodes.ts';

/** Nodes whose number a test sets. */
export interface SetNodes extends Nodes {
  set(alive: number, rank: number): void;
}

export function setNodes(alive = 1, rank = 0): SetNodes {
  const current = { alive, rank };
  const listeners = new Set<() => void>();
  return {
    alive: () => current.alive,
    rank: () => current.rank,
    isLeader: () => current.rank === 0,
    onChange(listener) {
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
    set(number, place) {
      current.alive = number;
      current.rank = place;
      for (const listener of listeners) listener();
    },
  };
}
