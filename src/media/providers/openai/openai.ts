import { invalid } from '../../../schema/invalid.ts';
import { tryParseJson } from '../../../schema/json.ts';
import { isObject } from '../../../schema/untrusted.ts';
import { editBody, imagePathOf, moderate, transcribe } from '../../provider/openai-requests.ts';
import { readImageResult } from '../../provider/output-files.ts';
import { type PollDelay, pollDelay } from '../../provider/polling.ts';
import {
  imageParameters,
  type MediaJob,
  type MediaOutput,
  type MediaProvider,
  type ProviderContext,
} from '../../provider/provider.ts';
import { asBillable, missingContent, withProviderClient } from '../../provider/provider-client.ts';
import type { AudioTaskRequest, ImageTaskRequest } from '../../task/task-request.ts';
import { makeVideo } from './videos.ts';

/** OpenAI and compatible providers. */
export function openaiProvider(delay: PollDelay = pollDelay): MediaProvider {
  return {
    imageFields: null,
    audioFormats: null,
    advice: { image: ['user'], video: [], audio: [] },
    makeImages,
    makeVideo: (job, context) => makeVideo(job, context, delay),
    makeAudio: makeSpeech,
    moderate,
    transcribe,
  };
}

/** Bytes of a response for each image as base64: a PNG of 3840x2160 can have 33 million. */
const MAX_BYTES_PER_IMAGE = 48 * 1024 * 1024;

/** Makes images in one request: an edit where there are inputs, else a generation. */
function makeImages(
  job: MediaJob<ImageTaskRequest>,
  context: ProviderContext,
): Promise<MediaOutput> {
  return withProviderClient(context, async (client) => {
    const { request, inputs } = job;
    const { n, prompt } = request;
    const { model } = context;
    const isEdit = inputs.length > 0;
    const parameters = imageParameters(request);
    const { json } = await client.sendForJson({
      path: imagePathOf({ ...request, edit: isEdit }),
      body: isEdit
        ? editBody(job, { model, prompt, ...parameters }, inputs.length > 1 ? 'image[]' : 'image')
        : { json: { model, prompt, ...parameters } },
      // Below the maximum length of a string for ten images.
      maxBytes: n * MAX_BYTES_PER_IMAGE,
      billable: true,
    });
    if (isObject(json['error'])) throw client.failureOf(json);
    try {
      return readImageResult(json, { maxImages: n, apiKey: client.settings.apiKey });
    } catch (error) {
      throw asBillable(error);
    }
  });
}

/** Bytes of a response: an hour and a half of speech as uncompressed audio. */
const MAX_SPEECH_BYTES = 256 * 1024 * 1024;

/** Voice for requests without one: the API requires it. */
const DEFAULT_VOICE = 'alloy';

/** Turns the prompt into speech. */
function makeSpeech(
  { request }: MediaJob<AudioTaskRequest>,
  context: ProviderContext,
): Promise<MediaOutput> {
  return withProviderClient(context, async (client) => {
    const { prompt, voice, format, duration, instructions, speed } = request;
    if (duration !== null) {
      const message = 'this model speaks for as long as its text is';
      throw invalid('duration', message, 'unsupported_parameter');
    }
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
      maxBytes: MAX_SPEECH_BYTES,
      billable: true,
    });
    if (/^\s*(text\/|application\/(\w+\+)?json)/i.test(headers['content-type'] ?? '')) {
      const text = bytes.toString('utf8', 0, 1_000_000);
      const json = tryParseJson(text);
      if (isObject(json) && isObject(json['error'])) throw client.failureOf(json);
      throw asBillable(missingContent('audio', text));
    }
    if (bytes.length === 0) throw asBillable(missingContent('audio', ''));
    return { files: [{ bytes }], usage: null };
  });
}
