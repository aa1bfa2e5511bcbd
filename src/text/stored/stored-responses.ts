import { randomBytes } from 'node:crypto';
import type { Config } from '../../config/settings/schema.ts';
import { Failure } from '../../failure.ts';
import { valueOr } from '../../flow.ts';
import { invalid } from '../../schema/invalid.ts';
import { objectsOf, textOf } from '../../schema/untrusted.ts';
import {
  changeDocument,
  type Document,
  type DocumentKey,
  type NewDocument,
  type WithChange,
} from '../../store/document.ts';
import { newId } from '../../store/identifier.ts';
import { openText, sealText } from '../../store/secret-key.ts';
import type { Store } from '../../store/store.ts';
import type { Json } from '../canonical/canonical.ts';
import { type Lookup, SEALED, type StoredResponse, shownItem, tooLong } from './history.ts';

/** Milliseconds for which identifiers of a provider are kept, those of an account, and those of one request. */
const REMEMBERED_MS = 7 * 86_400_000;
const MAX_REMEMBERED = 100_000;
const MAX_GIVEN = 1000;

const HOUR_MS = 3_600_000;

/** Responses that are read for the items that one request names. */
const MAX_READ = 1000;

/** Items that are read at once. */
const PAGE = 100;

const PREFIXES: Readonly<Record<string, string>> = {
  message: 'msg',
  reasoning: 'rs',
  function_call: 'fc',
  function_call_output: 'fco',
  compaction: 'cmp',
};

type Earlier = { find(id: string): StoredResponse | undefined };

/** Responses, conversations and their items of one account. */
export class StoredResponses implements Lookup {
  readonly #store: Store;
  readonly #accountId: string;
  readonly #settings: Config['responses'];
  readonly #earlier: Earlier | undefined;
  /** The last response that an item was taken from: each is read and parsed whole. */
  #last: { readonly id: string; readonly output: readonly Json[] } = { id: '', output: [] };
  #reads = 0;

  /** @param earlier responses of a connection, which are looked up first */
  constructor(
    store: Store,
    accountId: string,
    { responses }: Pick<Config, 'responses'>,
    earlier?: Earlier,
  ) {
    this.#earlier = earlier;
    this.#store = store;
    this.#accountId = accountId;
    this.#settings = responses;
  }

  get #quota() {
    const { maxCount: count, maxSize: bytes } = this.#settings;
    return { count, bytes };
  }

  key(kind: DocumentKey['kind'], id: string): DocumentKey {
    return { kind, accountId: this.#accountId, id };
  }

  find(kind: DocumentKey['kind'], id: string): Promise<Document | undefined> {
    return this.#store.documents.find(this.key(kind, id));
  }

  async response(id: string): Promise<StoredResponse | undefined> {
    const earlier = this.#earlier?.find(id);
    return earlier ?? ((await this.find('response', id))?.body as StoredResponse | undefined);
  }

  async item(id: string): Promise<Json | undefined> {
    const found = await this.find('response_item', id);
    if (found === undefined) {
      const item = await this.find('conversation_item', id);
      const isKept = item?.parent && (await this.find('conversation', item.parent));
      return isKept ? (item.body as Json) : undefined;
    }
    if (found.parent === null) return undefined;
    if (found.parent !== this.#last.id) {
      this.#reads += 1;
      if (this.#reads > MAX_READ) {
        throw invalid(
          'input',
          `expected items of at most ${MAX_READ} responses, grouped by response`,
        );
      }
      const stored = await this.response(found.parent);
      this.#last = { id: found.parent, output: objectsOf(stored?.response['output']) };
    }
    return this.#last.output.find((item) => item['id'] === id);
  }

  async conversation(id: string, most: number): Promise<readonly Json[] | undefined> {
    const found = await this.find('conversation', id);
    if (found === undefined) return undefined;
    await this.#touch(found);
    const { documents } = this.#store;
    const items: Json[] = [];
    let bytes = 0;
    for (let after: string | undefined; ; ) {
      const query = { kind: 'conversation_item', accountId: this.#accountId, parent: id } as const;
      const page = await documents.list({ ...query, limit: PAGE, after });
      for (const { body } of page.documents) {
        bytes += Buffer.byteLength(JSON.stringify(body));
        items.push(body as Json);
      }
      if (bytes > most) throw tooLong(most);
      if (!page.hasMore) return items;
      after = page.documents.at(-1)!.id;
    }
  }

  /**
   * Keeps a response for the retention, and adds its items to its conversation.
   *
   * @throws Failure `storage_full`, `store_unavailable`
   */
  async keep(stored: StoredResponse, isOpen = false, more: object = {}): Promise<Document> {
    const { documents } = this.#store;
    const { response, conversation } = stored;
    const id = textOf(response['id']);
    const expiresAt = this.#store.now + this.#settings.retention;
    const body = { ...stored, ...more };
    const kept = this.#new('response', id, { expiresAt, isOpen, body });
    const parts = this.#partsOf(id, response, expiresAt);
    const add = async () => {
      // In one transaction: a client repeats a request whose answer a crash has lost.
      const items =
        conversation === null ? [] : await this.#newItems(conversation, itemsIn(stored));
      return (await documents.add([kept, ...parts, ...items], this.#quota))[0]!;
    };
    try {
      return await add();
    } catch (error) {
      if (!(error instanceof Failure) || error.code !== 'document_exists') throw error;
      // A provider, or a deterministic server, has given the same identifiers again.
      for (const document of [kept, ...parts]) await documents.remove(document);
      return add();
    }
  }

  #partsOf(parent: string, response: Json, expiresAt: number): readonly NewDocument[] {
    const ids = new Set(objectsOf(response['output']).map((item) => textOf(item['id'])));
    ids.delete('');
    return Array.from(ids, (id) => this.#new('response_item', id, { parent, expiresAt }));
  }

  #new(kind: DocumentKey['kind'], id: string, more: Partial<NewDocument>): NewDocument {
    const key = this.key(kind, id);
    return { ...key, parent: null, expiresAt: null, isOpen: false, body: null, ...more };
  }

  /** What the change adds that gives a kept response its answer. */
  async partsOf({ id, expiresAt }: Document, stored: StoredResponse): Promise<WithChange> {
    const { conversation, response } = stored;
    const parts = this.#partsOf(id, response, expiresAt ?? 0);
    for (const part of parts) await this.#store.documents.remove(part);
    const items = conversation === null ? [] : await this.#newItems(conversation, itemsIn(stored));
    return { added: [...items, ...parts], quota: this.#quota };
  }

  /** Keeps a conversation that is used. */
  async #touch(conversation: Document): Promise<void> {
    const { conversationRetention } = this.#settings;
    const expiresAt = this.#store.now + conversationRetention;
    const gained = expiresAt - (conversation.expiresAt ?? 0);
    if (gained < Math.min(HOUR_MS, conversationRetention / 2)) return;
    await changeDocument(this.#store.documents, conversation, (body) => ({ body, expiresAt }));
  }

  /** Adds items to a conversation. */
  async append(conversation: string, items: readonly Json[]): Promise<readonly Json[]> {
    const added = await this.#newItems(conversation, items);
    await this.#store.documents.add(added, this.#quota);
    return added.map(({ body }) => body as Json);
  }

  /** Items of a conversation that is kept, and kept longer by this. */
  async #newItems(conversation: string, items: readonly Json[]): Promise<readonly NewDocument[]> {
    const found = await this.find('conversation', conversation);
    // Deleted meanwhile.
    if (found === undefined) return [];
    await this.#touch(found);
    return this.#itemsOf(conversation, items);
  }

  /** Items of a conversation. Those without an identifier, or with one that is taken, get a new one. */
  async #itemsOf(parent: string, items: readonly Json[]): Promise<readonly NewDocument[]> {
    const named: NewDocument[] = [];
    const seen = new Set<string>();
    for (const item of items) {
      const id = textOf(item['id']);
      const isTaken = id === '' || seen.has(id) || (await this.find('conversation_item', id));
      const own = isTaken ? newId(PREFIXES[String(item['type'] ?? 'message')] ?? 'item') : id;
      seen.add(own);
      const body = shownItem(item, own);
      named.push(this.#new('conversation_item', own, { parent, body }));
    }
    return named;
  }

  /** Notes what a provider itself has stored for the account, which it may name in later requests. */
  async remember(ids: readonly string[]): Promise<void> {
    const expiresAt = this.#store.now + REMEMBERED_MS;
    const noted = ids.map((id) => this.#new('response_item', id, { expiresAt }));
    // Without them, later requests lose references.
    await this.#store.documents
      .add(noted, { count: MAX_REMEMBERED, bytes: Infinity })
      .catch(() => {});
  }

  /** Those of some identifiers that the account has received. */
  async given(ids: readonly string[]): Promise<ReadonlySet<string>> {
    const wanted = ids.slice(0, MAX_GIVEN);
    const found = await Promise.all(wanted.map((id) => this.find('response_item', id)));
    return new Set(found.flatMap((document) => document?.id ?? []));
  }

  /** Encrypts a summary, which this account alone can send back. */
  async seal(text: string): Promise<string> {
    return SEALED + sealText(await this.#sealingKey(), text, this.#accountId);
  }

  async open(sealed: string): Promise<string | null> {
    const key = await this.#sealingKey();
    return valueOr(() => openText(key, sealed.slice(SEALED.length), this.#accountId), null);
  }

  /** The account's own key, which all nodes share. */
  async #sealingKey(): Promise<Buffer> {
    const body = randomBytes(32).toString('base64');
    const made = this.#new('compaction_key', 'key', { body });
    const known = await this.#store.documents.find(made);
    if (known) return Buffer.from(known.body as string, 'base64');
    await this.#store.documents.add([made]).catch((error: unknown) => {
      if (!(error instanceof Failure) || error.code !== 'document_exists') throw error;
    });
    return this.#sealingKey();
  }

  /** Creates a conversation with its first items, in one transaction. */
  async create(metadata: Json, items: readonly Json[]): Promise<Document> {
    const expiresAt = this.#store.now + this.#settings.conversationRetention;
    const more = { expiresAt, body: { metadata } };
    const conversation = this.#new('conversation', newId('conv'), more);
    const first = await this.#itemsOf(conversation.id, items);
    return (await this.#store.documents.add([conversation, ...first], this.#quota))[0]!;
  }
}

/** The items that a response adds to its conversation. */
function itemsIn({ input, response }: StoredResponse): readonly Json[] {
  return [...input, ...objectsOf(response['output'])];
}
