import { randomFillSync } from 'node:crypto';

/** The identity of a span (W3C Trace Context). Identifiers are in hexadecimal. */
export interface TraceContext {
  readonly traceId: string;
  readonly spanId: string;
  /** The span of the client; null for the first span of a trace. */
  readonly parentId: string | null;
  readonly isSampled: boolean;
}

/** Version, trace, span and flags; later versions may append fields (W3C Trace Context, 3.2 and 4). */
const TRACEPARENT =
  /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

const MAX_TRACEPARENT = 256;

interface Parent {
  readonly traceId: string;
  readonly spanId: string;
  readonly isSampled: boolean;
}

/** The client's span; null without a valid header. */
export function parseTraceparent(header: unknown): Parent | null {
  if (typeof header !== 'string' || header.length > MAX_TRACEPARENT) return null;
  const [, version, traceId, spanId, flags, more] = TRACEPARENT.exec(header) ?? [];
  if (traceId === undefined || (version === '00' && more !== undefined)) return null;
  return { traceId, spanId: spanId!, isSampled: (Number.parseInt(flags!, 16) & 1) === 1 };
}

export function traceparentOf(traceId: string, spanId: string, isSampled: boolean): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
}

const ID_BYTES = 8;
const BLOCK = Buffer.alloc(128 * ID_BYTES);
let used = BLOCK.length;

/** A random identifier of a span; two of them are one of a trace. Random bytes are drawn for 128 at once. */
export function randomId(): string {
  if (used === BLOCK.length) {
    randomFillSync(BLOCK);
    used = 0;
  }
  used += ID_BYTES;
  const id = BLOCK.toString('hex', used - ID_BYTES, used);
  return id === '0000000000000000' ? randomId() : id;
}

/** Whether a trace is in a share of all traces, by its identifier: all spans of a trace agree. */
export function isInSample(traceId: string, share: number): boolean {
  return Number.parseInt(traceId.slice(-12), 16) < share * 2 ** 48;
}
