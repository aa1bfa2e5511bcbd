import type { Collection } from './state.ts';

/** Rows of one shard. A file with this many rows is written in a few milliseconds. */
export const SHARD_ROWS = 512;

const FILE_NAME = /^[a-z]+-\d{6,}\.\d+\.json$/;

/** Range of rows of one collection that a checkpoint writes to one file. */
export interface ShardKey {
  readonly collection: Collection;
  /** The shard has the orders from `number * SHARD_ROWS` on. */
  readonly number: number;
}

export function shardNumber(order: number): number {
  return Math.floor(order / SHARD_ROWS);
}

export function shardName({ collection, number }: ShardKey): string {
  return `${collection}-${String(number).padStart(6, '0')}`;
}

/** Whether a file name is that of a shard, or of a shard that was being written. */
export function isShardFile(name: string): boolean {
  return FILE_NAME.test(name.replace(/\.new$/, ''));
}
