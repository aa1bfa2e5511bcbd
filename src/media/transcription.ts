import { findModel } from '../config/catalog.ts';
import type { Config } from '../config/schema.ts';
import type { ImmediateCall } from './moderation.ts';
import type { Transcript } from './provider/provider.ts';
import type { ProviderCalls } from './provider-calls.ts';
import { expectType, modelIdOf } from './requests/model.ts';
import { readAudioFile, readTranscriptionRequest } from './requests/transcription.ts';
import type { SentFile } from './task/call.ts';

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
