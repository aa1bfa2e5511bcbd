import { isObject } from '../../../schema/untrusted.ts';
import { type FormField, formOf } from '../../../upstream/form.ts';
import { readImageResult } from '../../provider/output-files.ts';
import type { MediaJob, MediaOutput, ProviderContext } from '../../provider/provider.ts';
import { imageParameters } from '../../provider/provider.ts';
import {
  asBillable,
  type RequestBody,
  withProviderClient,
} from '../../provider/provider-client.ts';
import type { ImageTaskRequest } from '../../task/task-request.ts';

/** Bytes of a response for each image as base64: a PNG of 3840x2160 can have 33 million. */
const MAX_BYTES_PER_IMAGE = 48 * 1024 * 1024;

/** Makes images in one request: an edit where there are inputs, else a generation. */
export function makeImages(
  job: MediaJob<ImageTaskRequest>,
  context: ProviderContext,
): Promise<MediaOutput> {
  return withProviderClient(context, async (client) => {
    const { n } = job.request;
    const isEdit = job.inputs.length > 0;
    const { json } = await client.sendForJson({
      path: isEdit ? '/images/edits' : '/images/generations',
      body: isEdit ? editBody(job, context.model) : generationBody(job, context.model),
      // Below the maximum length of a string for ten images.
      maxBytes: n * MAX_BYTES_PER_IMAGE,
      billable: true,
    });
    if (isObject(json['error'])) throw client.failureOf(null, json);
    try {
      return readImageResult(json, { maxImages: n, apiKey: client.settings.apiKey });
    } catch (error) {
      throw asBillable(error);
    }
  });
}

function generationBody({ request }: MediaJob<ImageTaskRequest>, model: string): RequestBody {
  return { json: { model, prompt: request.prompt, ...imageParameters(request) } };
}

function editBody(
  { request, inputs, mask }: MediaJob<ImageTaskRequest>,
  model: string,
): RequestBody {
  const parameters = Object.entries(imageParameters(request));
  return {
    form: formOf([
      ['model', model],
      ['prompt', request.prompt],
      ...parameters.map(([name, value]): FormField => [name, String(value)]),
      ...inputs.map((input): FormField => [inputs.length > 1 ? 'image[]' : 'image', input]),
      ...(mask === null ? [] : [['mask', mask] as const]),
    ]),
  };
}
