import { findModel } from '../config/catalog/catalog.ts';
import type { Config } from '../config/settings/schema.ts';
import type { KeyHolder } from '../store/store.ts';
import type { ModerationAnswer, Transcript } from './provider/provider.ts';
import type { ProviderCalls } from './provider-calls.ts';
import type { Fields } from './requests/fields.ts';
import { defaultModerationModel, expectType, modelIdOf } from './requests/model.ts';
import { readModerationRequest } from './requests/moderation.ts';
import { readAudioFile, readTranscriptionRequest } from './requests/transcription.ts';
import type { SentFile } from './task/call.ts';

export interface ImmediateCall {
  readonly holder: KeyHolder;
  readonly requestId: string;
  readonly fields: Fields;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
}

/** Answers a moderation request by the routes of a moderation model. @throws Failure */
export async function moderate(
  { holder, requestId, fields, signal }: ImmediateCall,
  config: Config,
  calls: ProviderCalls,
): Promise<ModerationAnswer> {
  const allowed = holder.key.models;
  const name =
    fields['model'] == null ? defaultModerationModel(config, allowed) : modelIdOf(fields);
  const { id, part, model } = findModel(config, name, allowed);
  const named = { ...fields, model: name };
  expectType(named, model, 'moderation');
  const input = readModerationRequest(named, model);
  const call = { holder, requestId, id, part, model, prefix: 'mod', signal };
  return calls.run(call, (provider, context) => provider.moderate(input, context));
}

export interface TranscriptionCall extends ImmediateCall {
  readonly file: SentFile;
}

/** Answers a transcription request by the routes of a transcription model. @throws Failure */
export async function transcribe(
  { holder, requestId, fields, file, signal }: TranscriptionCall,
  config: Config,
  calls: ProviderCalls,
): Promise<Transcript> {
  const { id, part, model } = findModel(config, modelIdOf(fields), holder.key.models);
  expectType(fields, model, 'transcription');
  const request = readTranscriptionRequest(fields);
  const job = { request, file: await readAudioFile(file) };
  const call = { holder, requestId, id, part, model, prefix: 'transcription', signal };
  return calls.run(call, (provider, context) => provider.transcribe(job, context));
}
