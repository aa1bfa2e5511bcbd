import { findModel } from '../config/catalog/catalog.ts';
import { nameOf, upstreamModelOf } from '../config/catalog/model-names.ts';
import type { Model, Provider } from '../config/settings/schema.ts';
import { clientPool, MAX_WAITING } from '../operations/pool/pool.ts';
import { longestTotal, timeoutsUntil } from '../routing/retry-policy.ts';
import { unknownToProvider } from '../routing/route-candidates.ts';
import { newId } from '../store/identifier.ts';
import type { KeyHolder } from '../store/store.ts';
import type {
  MediaProvider,
  ModerationAnswer,
  ProviderContext,
  Transcript,
} from './provider/provider.ts';
import { providerOf } from './providers/providers.ts';
import type { Fields } from './requests/fields.ts';
import { readModerationRequest } from './requests/moderation.ts';
import { readAudioFile, readTranscriptionRequest } from './requests/transcription.ts';
import { defaultModerationModel, expectType, modelIdOf } from './requests/validated-request.ts';
import type { SentFile } from './task/call.ts';
import type { MediaServices } from './task/media-services.ts';

/** A request that is answered at once, without a task. */
export interface ImmediateCall {
  readonly holder: KeyHolder;
  readonly requestId: string;
  readonly fields: Fields;
  /** Tags by which usage is counted, as one text; absent or empty without any. */
  readonly tags?: string;
  /** Called with the micro-credits that the request was charged. */
  readonly onCharged?: (charge: number) => void;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
}

export interface TranscriptionCall extends ImmediateCall {
  readonly file: SentFile;
  readonly translates: boolean;
}

/** Answers a moderation request by the routes of a moderation model. @throws Failure */
export async function moderate(
  call: ImmediateCall,
  services: MediaServices,
): Promise<ModerationAnswer> {
  const { holder, fields } = call;
  const config = services.config();
  const allowed = holder.key.models;
  const name =
    fields['model'] == null ? defaultModerationModel(config, allowed) : modelIdOf(fields);
  const { id, part, model } = findModel(config, name, allowed);
  const named = { ...fields, model: name };
  expectType(named, model, 'moderation');
  const input = readModerationRequest(named, model);
  const found = { id, part, model, prefix: 'mod' };
  return callProvider(services, call, found, (provider, context) =>
    provider.moderate(input, context),
  );
}

/** Answers a transcription request by the routes of a transcription model. @throws Failure */
export async function transcribe(
  call: TranscriptionCall,
  services: MediaServices,
): Promise<Transcript> {
  const { holder, fields } = call;
  const { id, part, model } = findModel(services.config(), modelIdOf(fields), holder.key.models);
  expectType(fields, model, 'transcription');
  const request = readTranscriptionRequest(fields, call.translates);
  const job = { request, file: await readAudioFile(call.file) };
  const found = { id, part, model, prefix: 'transcription' };
  return callProvider(services, call, found, (provider, context) =>
    provider.transcribe(job, context),
  );
}

interface CalledModel {
  /** Public identifier of the model. */
  readonly id: string;
  /** The part of the requested name that its wildcard stands for; null without one. */
  readonly part: string | null;
  /** A model with a price for each request. */
  readonly model: Extract<Model, { readonly type: 'moderation' | 'transcription' }>;
  /** Prefix of the identifier that the provider gets. */
  readonly prefix: string;
}

/**
 * Charges the price of a request for an answer, also where the client disconnected after a provider had got
 * the request.
 *
 * @throws Failure
 */
async function callProvider<Answer>(
  services: MediaServices,
  { holder, requestId, tags, onCharged, signal }: ImmediateCall,
  { id, part, model, prefix }: CalledModel,
  attempt: (provider: MediaProvider, context: ProviderContext) => Promise<Answer>,
): Promise<Answer> {
  const { store, routing, upstream } = services;
  const config = services.config();
  const { account, key } = holder;
  const { perRequest } = model.price;
  const reservation = await store.reserve(account.id, key.id, perRequest);
  const metered = { model: id, tags };
  const charge = async () =>
    onCharged?.(
      await store.settle(reservation, { ...metered, counts: { requests: 1 }, charge: perRequest }),
    );
  const recordError = () =>
    store.settle(reservation, { ...metered, counts: { requests: 1, errors: 1 }, charge: 0 });
  const deadline = performance.now() + longestTotal(config, model.routes);
  let isSent = false;
  try {
    const answer = await routing.run({
      model: id,
      accountId: account.id,
      logContext: { requestId },
      candidates: routing.candidatesOf(model, part),
      providers: config.providers,
      signal,
      deadline,
      attempt: async ({ route }, settings: Provider) => {
        return attempt(providerOf(settings.kind), {
          settings,
          model: upstreamModelOf(route, part),
          idempotencyKey: newId(prefix),
          upstream,
          pool: clientPool(services.pool, { client: account.id, maxWaiting: MAX_WAITING }),
          textThreads: services.textThreads.forClient(account.id),
          timeouts: timeoutsUntil(deadline, config, settings),
          signal,
          savedState: null,
          saveState: async () => {},
          beforeBillableRequest: async () => {
            isSent = true;
          },
        }).catch((error: unknown) => {
          if (!signal.aborted) isSent = false;
          throw error;
        });
      },
    });
    await charge();
    return answer;
  } catch (error) {
    if (signal.aborted && isSent) await charge();
    else if (signal.aborted) await store.release(reservation);
    else await recordError();
    throw part === null ? error : unknownToProvider(error, id, nameOf(id, part));
  }
}
