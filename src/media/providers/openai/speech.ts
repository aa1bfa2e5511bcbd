import { Failure } from '../../../failure.ts';
import { tryParseJson } from '../../../schema/json.ts';
import { isObject } from '../../../schema/untrusted.ts';
import type { MediaJob, MediaOutput, ProviderContext } from '../../provider/provider.ts';
import { asBillable, missingContent, withProviderClient } from '../../provider/provider-client.ts';
import type { AudioTaskRequest } from '../../task/task-request.ts';

/** Bytes of a response: an hour and a half of speech as uncompressed audio. */
const MAX_RESPONSE_BYTES = 256 * 1024 * 1024;

/** Voice for requests without one: the API requires it. */
const DEFAULT_VOICE = 'alloy';

/** Turns the prompt into speech. */
export function makeSpeech(
  { request }: MediaJob<AudioTaskRequest>,
  context: ProviderContext,
): Promise<MediaOutput> {
  return withProviderClient(context, async (client) => {
    const { prompt, voice, format, duration, instructions, speed } = request;
    if (duration !== null) throw durationUnsupported();
    const { bytes, headers } = await client.send({
      path: '/audio/speech',
      body: {
        json: {
          model: context.model,
          input: prompt,
          voice: voice ?? DEFAULT_VOICE,
          ...(instructions !== undefined && { instructions }),
          ...(format !== null && { response_format: format }),
          ...(speed !== undefined && { speed }),
        },
      },
      maxBytes: MAX_RESPONSE_BYTES,
      billable: true,
    });
    if (/^\s*(text\/|application\/(\w+\+)?json)/i.test(headers['content-type'] ?? '')) {
      const text = bytes.toString('utf8', 0, 1_000_000);
      const json = tryParseJson(text);
      if (isObject(json) && isObject(json['error'])) throw client.failureOf(null, json);
      throw asBillable(missingContent('audio', text));
    }
    if (bytes.length === 0) throw asBillable(missingContent('audio', ''));
    return { files: [{ bytes }], usage: null };
  });
}

function durationUnsupported(): Failure {
  return new Failure('invalid_request', 'duration: this model speaks for as long as its text is', {
    param: 'duration',
    code: 'unsupported_parameter',
  });
}
