import { Failure } from '../../../failure.ts';
import { tryParseJson } from '../../../schema/json.ts';
import { isObject } from '../../../schema/untrusted.ts';
import type { AudioWork } from '../../work.ts';
import type { Order, Production, Workshop } from '../provider.ts';
import { jsonOf, withRemote } from '../remote.ts';
import { charged, without } from '../unusable.ts';

/** Bytes of an answer: an hour and a half of speech as uncompressed audio. */
const MOST_BYTES = 256 * 1024 * 1024;

/** The voice where none is asked for: the interface wants one. */
const VOICE = 'alloy';

/** Has a text spoken. */
export function makeSpeech({ work }: Order<AudioWork>, workshop: Workshop): Promise<Production> {
  return withRemote(workshop, async (remote) => {
    const { prompt, voice, format, duration } = work;
    if (duration !== null) throw untimed();
    const { bytes, headers } = await remote.send({
      path: '/audio/speech',
      sent: jsonOf({
        model: workshop.model,
        input: prompt,
        voice: voice ?? VOICE,
        ...(format !== null && { response_format: format }),
      }),
      most: MOST_BYTES,
      charges: true,
    });
    if (/^\s*(text\/|application\/(\w+\+)?json)/i.test(headers['content-type'] ?? '')) {
      const text = bytes.toString('utf8', 0, 1_000_000);
      const body = tryParseJson(text);
      if (isObject(body) && isObject(body['error'])) throw remote.told(null, body);
      throw charged(without('audio', text));
    }
    if (bytes.length === 0) throw charged(without('audio', ''));
    return { products: [{ bytes }], usage: null };
  });
}

function untimed(): Failure {
  return new Failure('invalid_request', 'duration: this model speaks for as long as its text is', {
    param: 'duration',
    code: 'unsupported_parameter',
  });
}
