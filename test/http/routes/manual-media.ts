import { readFile } from 'node:fs/promises';
import { findModel } from '../../../src/config/catalog/catalog.ts';
import type { Config, Model } from '../../../src/config/settings/schema.ts';
import type { Media } from '../../../src/http/request/app-context.ts';
import type { ImmediateCall } from '../../../src/media/immediate-calls.ts';
import type { ModerationAnswer } from '../../../src/media/provider/provider.ts';
import type { Fields } from '../../../src/media/requests/fields.ts';
import { readModerationRequest } from '../../../src/media/requests/moderation.ts';
import { modelIdOf, type ValidatedRequest } from '../../../src/media/requests/validated-request.ts';
import { READERS } from '../../../src/media/stages/validate-request.ts';
import type { MediaCall, SentFile } from '../../../src/media/task/call.ts';
import type { KeyHolder, Store } from '../../../src/store/store.ts';
import type { Task } from '../../../src/store/task.ts';

/** A submitted call, with the bytes of its files. */
export interface Asked {
  readonly call: MediaCall;
  readonly request: ValidatedRequest;
  readonly images: readonly string[];
  readonly mask: string | null;
}

const contentOf = (one: object) => readFile((one as SentFile).path, 'latin1');

/** A media gateway that stores tasks as the real one does; the test ends them. */
export class ManualMedia implements Media {
  readonly asked: Asked[] = [];
  readonly waits: { readonly milliseconds: number; readonly left: AbortSignal }[] = [];
  /** Called for a task while a request waits for it. */
  end: (task: Task, left: AbortSignal) => Promise<Task> = async (task) => task;
  /** Content of the last upload. */
  uploaded: string | undefined;
  readonly #store: Store;
  readonly #config: Config;

  constructor(store: Store, config: Config) {
    this.#store = store;
    this.#config = config;
  }

  async submit(call: MediaCall): Promise<Task> {
    const { kind, fields, holder, images = [], mask = null, idempotencyKey: key } = call;
    const model = this.#find(fields, holder);
    const request = READERS[kind](fields, model);
    this.asked.push({
      call,
      request,
      images: await Promise.all(images.map(contentOf)),
      mask: mask && (await contentOf(mask)),
    });
    const { task } = await this.#store.createTask({
      accountId: holder.account.id,
      keyId: holder.key.id,
      type: request.request.type,
      model: modelIdOf(fields),
      request: request.request,
      reservation: 0,
      maxOpenTasks: Infinity,
      deadline: Date.now() + 60_000,
      callbackUrl: request.callbackUrl,
      idempotency: key === null ? null : { key, fingerprint: JSON.stringify(fields) },
      assets: [],
      storageQuota: Infinity,
    });
    return task;
  }

  async waitFor(task: Task, milliseconds: number, left: AbortSignal): Promise<Task> {
    this.waits.push({ milliseconds, left });
    return this.end(task, left);
  }

  async upload(_holder: KeyHolder, { path }: { readonly path: string }): Promise<string> {
    this.uploaded = await readFile(path, 'latin1');
    return 'a-name.png';
  }

  async moderate({ holder, fields }: ImmediateCall): Promise<ModerationAnswer> {
    const input = readModerationRequest(fields, this.#find(fields, holder));
    const result = { flagged: false, categories: {}, category_scores: {} };
    return { id: 'modr-1', model: modelIdOf(fields), results: [{ ...result, input }] };
  }

  transcribe(): Promise<never> {
    throw new Error('No transcriptions by hand');
  }

  #find(fields: Fields, { key }: KeyHolder): Model {
    return findModel(this.#config, modelIdOf(fields), key.models).model;
  }
}

const routes = [{ provider: 'hand', model: 'any' }];

/** A model of each type, and images with native sizes. */
export const MODELS = {
  providers: { hand: { kind: 'sandbox' } },
  models: {
    native: { type: 'image', rules: 'native-size', routes },
    image: { type: 'image', routes },
    video: { type: 'video', duration: 7, routes },
    audio: { type: 'audio', routes },
    judge: { type: 'moderation', routes },
    text: { type: 'text', routes },
  },
} as const;
