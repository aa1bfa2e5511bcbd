/** One request to a provider. Requests of one client's request follow one another. */
export interface RequestAttempt {
  /** Name of the provider in the configuration, and its name of the model. */
  readonly provider: string;
  readonly model: string;
  /** Names one of several keys of the provider; null for an only key. */
  readonly key: string | null;
  /** Milliseconds from the arrival of the request. */
  readonly startMs: number;
  readonly milliseconds: number;
  /** The provider's status; null where it did not answer. */
  readonly status: number | null;
  /** Code or type of the failure; null for a success. */
  readonly error: string | null;
  /** The provider's words, for the owner: without secrets, with names and addresses. */
  readonly message: string | null;
}

/** Name and identifier at the time of the request. */
interface Named {
  readonly id: string;
  readonly name: string;
}

/** A request that has ended, without its headers and bodies. */
export interface RequestRecord {
  /** Ascending in about the order of the ends of requests. */
  readonly number: number;
  /** As in x-request-id, which a client may choose: not always unique. */
  readonly id: string;
  /** Time of the end, in milliseconds since the epoch. */
  readonly at: number;
  readonly method: string;
  /** The route's pattern. */
  readonly route: string;
  readonly status: number;
  readonly milliseconds: number;
  /** Milliseconds to the first event of a stream; null without one. */
  readonly firstFrameMs: number | null;
  /** Null without a valid key. */
  readonly account: Named | null;
  readonly key: Named | null;
  readonly model: string | null;
  /** The model that the client named, which need not exist; null where it is `model`. */
  readonly namedModel: string | null;
  readonly taskId: string | null;
  readonly traceId: string | null;
  readonly provider: string | null;
  readonly upstreamModel: string | null;
  readonly attempts: readonly RequestAttempt[];
  readonly cache: string | null;
  readonly tags: Readonly<Record<string, string>>;
  readonly inputTokens: number | null;
  readonly cachedInputTokens: number | null;
  readonly outputTokens: number | null;
  /** Micro-credits; null for a request that is not metered, such as one that created a task. */
  readonly charge: number | null;
  readonly errorType: string | null;
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
  /** Whether its bodies were kept. */
  readonly hasBodies: boolean;
}

/** The bodies of a request as texts, redacted and cut to a length. */
export interface RequestBodies {
  readonly request: string;
  /** The answer as sent; of a stream, as the whole answer. Null where there was none. */
  readonly answer: string | null;
}

/** A request to keep. */
export interface NewRequest extends Omit<RequestRecord, 'number' | 'hasBodies'> {
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
    (from === undefined || record.at >= from) &&
    (to === undefined || record.at < to) &&
    record.route !== filter.exceptRoute &&
    (tag === undefined || hasTag(record, tag.name, tag.value)) &&
    (text === undefined || hasText(record, text.toLowerCase(), filter.isOwner === true))
  );
}

function hasTag({ tags }: RequestRecord, name: string, value: string | null): boolean {
  return Object.hasOwn(tags, name) && (value === null || tags[name] === value);
}

function hasText(record: RequestRecord, text: string, isOwner: boolean): boolean {
  const { id, key, route, model, namedModel, taskId, traceId, tags } = record;
  const { errorType, errorCode, errorMessage, account, provider, upstreamModel } = record;
  const texts = [id, key?.id, key?.name, route, model, namedModel, taskId, traceId];
  texts.push(errorType, errorCode, errorMessage, ...Object.entries(tags).flat());
  if (isOwner) {
    texts.push(account?.name, account?.id, provider, upstreamModel);
    for (const attempt of record.attempts) texts.push(attempt.provider, attempt.message);
  }
  return texts.some((one) => one?.toLowerCase().includes(text));
}
