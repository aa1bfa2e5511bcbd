import * as v from 'valibot';

const textOrNull = (description: string) =>
  v.pipe(v.nullable(v.string()), v.description(description));
const numberOrNull = v.nullable(v.number());
/** Name and identifier at the time of the request. */
const named = v.nullable(v.object({ id: v.string(), name: v.string() }));

/** A request that has ended, without its headers and bodies, as its account sees it. */
export const requestShape = v.object({
  object: v.literal('request'),
  number: v.pipe(v.number(), v.description('ascending; the cursor of the list')),
  id: v.pipe(v.string(), v.description('as in x-request-id, which a client may choose')),
  ended: v.number(),
  ended_ms: v.pipe(v.number(), v.description('the same in milliseconds')),
  method: v.string(),
  route: v.pipe(v.string(), v.description('the pattern of the path')),
  status: v.pipe(v.number(), v.description('499 where the client disconnected')),
  error: v.nullable(
    v.object({ type: v.string(), code: v.nullable(v.string()), message: v.string() }),
  ),
  key: named,
  model: v.nullable(v.string()),
  named_model: textOrNull('the name in the request, where no model has it'),
  task_id: v.nullable(v.string()),
  trace_id: textOrNull('as sent to the collector of traces'),
  attempts: v.pipe(v.number(), v.description('requests to providers')),
  latency_ms: v.number(),
  first_token_ms: numberOrNull,
  input_tokens: numberOrNull,
  cached_input_tokens: numberOrNull,
  output_tokens: numberOrNull,
  credits: v.pipe(numberOrNull, v.description('null where a task has the charge')),
  cache: textOrNull('hit, miss or bypass'),
  tags: v.record(v.string(), v.string()),
  has_bodies: v.pipe(v.boolean(), v.description('whether the bodies were kept')),
});

/** An attempt at a provider; attempts follow one another. */
export const attemptShape = v.object({
  start_ms: v.pipe(v.number(), v.description('since the arrival of the request')),
  latency_ms: v.number(),
  status: v.pipe(numberOrNull, v.description('null where the provider did not answer')),
  error: v.nullable(v.string()),
});

const ownerAttemptShape = v.object({
  ...attemptShape.entries,
  provider: v.string(),
  model: v.string(),
  key: textOrNull('which of several keys of the provider'),
  message: textOrNull("the provider's words, without secrets"),
});

/** A request as the owner sees it, and as it is kept. */
export const ownerRequestShape = v.object({
  ...requestShape.entries,
  account: named,
  provider: v.nullable(v.string()),
  upstream_model: v.nullable(v.string()),
  timeline: v.array(ownerAttemptShape),
});

export type RequestAttempt = Readonly<v.InferOutput<typeof ownerAttemptShape>>;

export interface RequestRecord
  extends Readonly<Omit<v.InferOutput<typeof ownerRequestShape>, 'timeline' | 'tags'>> {
  readonly timeline: readonly RequestAttempt[];
  readonly tags: Readonly<Record<string, string>>;
}

/** The bodies of a request as texts, redacted and cut to a length. */
export interface RequestBodies {
  readonly request: string;
  /** The answer as sent; of a stream, as the whole answer. Null where there was none. */
  readonly answer: string | null;
}

/** A request to keep. */
export interface NewRequest {
  /** Its number is 0 until it is kept: a copy of each record would take as long as writing it. */
  readonly record: RequestRecord;
  readonly bodies: RequestBodies | null;
}

/** Which requests to find; all conditions must hold. */
export interface RequestFilter {
  readonly accountId?: string | undefined;
  readonly keyId?: string | undefined;
  readonly model?: string | undefined;
  readonly provider?: string | undefined;
  readonly id?: string | undefined;
  /** First digit of the status. */
  readonly statusClass?: string | undefined;
  /** A tag with this value, or with any. */
  readonly tag?: { readonly name: string; readonly value: string | null } | undefined;
  /** Part of an identifier, a name or a message, in any case. */
  readonly text?: string | undefined;
  /** Whether `text` is looked for in what only the owner may see. */
  readonly isOwner?: boolean | undefined;
  /** Milliseconds since the epoch; `to` is exclusive. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  /** A route that is left out. */
  readonly exceptRoute?: string | undefined;
}

/** Which requests to delete, or of which the bodies: all conditions must hold. */
export interface RequestSelection {
  readonly accountId?: string | undefined;
  readonly keyId?: string | undefined;
  readonly id?: string | undefined;
  /** Milliseconds since the epoch: only older ones. */
  readonly before?: number | undefined;
}

/** Where requests are kept: the disk of one daemon, or the database that several share. */
export interface RequestStorage {
  /** Whether other nodes add requests too. */
  readonly isShared: boolean;
  /** Keeps ended requests, and gives them numbers. */
  add(requests: readonly NewRequest[]): Promise<readonly RequestRecord[]>;
  /** Reads from the newest to the oldest. Parts have all records that meet the filter, and perhaps others. */
  read(filter: RequestFilter, before: number): AsyncGenerator<RequestPart, void>;
  bodiesOf(number: number): Promise<RequestBodies | undefined>;
  /** Deletes bodies, and records unless only bodies are meant. @returns how many records or bodies */
  remove(selection: RequestSelection, onlyBodies: boolean): Promise<number>;
  trim(limits: RequestLimits): Promise<void>;
  close(): Promise<void>;
}

export interface RequestPart {
  /** From the newest to the oldest. */
  readonly records: readonly RequestRecord[];
  /** The lowest number that was read. */
  readonly lowest: number;
}

/** How long requests are kept. Times are milliseconds since the epoch. */
export interface RequestLimits {
  readonly before: number;
  readonly bodiesBefore: number;
  /** Bytes of all records and bodies. */
  readonly maxBytes: number;
}

/** Whether a record meets a filter. */
export function meets(record: RequestRecord, filter: RequestFilter): boolean {
  const { accountId, keyId, model, provider, id, statusClass, tag, text, from, to } = filter;
  return (
    (accountId === undefined || record.account?.id === accountId) &&
    (keyId === undefined || record.key?.id === keyId) &&
    (model === undefined || record.model === model) &&
    (provider === undefined || record.provider === provider) &&
    (id === undefined || record.id === id) &&
    (statusClass === undefined || String(record.status)[0] === statusClass) &&
    (from === undefined || record.ended_ms >= from) &&
    (to === undefined || record.ended_ms < to) &&
    record.route !== filter.exceptRoute &&
    (tag === undefined || hasTag(record, tag.name, tag.value)) &&
    (text === undefined || hasText(record, text.toLowerCase(), filter.isOwner === true))
  );
}

function hasTag({ tags }: RequestRecord, name: string, value: string | null): boolean {
  return Object.hasOwn(tags, name) && (value === null || tags[name] === value);
}

function hasText(record: RequestRecord, text: string, isOwner: boolean): boolean {
  const { id, key, route, model, named_model: named, task_id: task, trace_id: trace } = record;
  const { tags, error, account, provider, upstream_model: upstreamModel } = record;
  const texts = [id, key?.id, key?.name, route, model, named, task, trace];
  texts.push(error?.type, error?.code, error?.message, ...Object.entries(tags).flat());
  if (isOwner) {
    texts.push(account?.name, account?.id, provider, upstreamModel);
    for (const attempt of record.timeline) texts.push(attempt.provider, attempt.message);
  }
  return texts.some((one) => one?.toLowerCase().includes(text));
}
