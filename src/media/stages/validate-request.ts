import { findModel } from '../../config/catalog/catalog.ts';
import { quoteValue } from '../../schema/fields.ts';
import { invalid } from '../../schema/invalid.ts';
import { fieldWithoutRoute } from '../providers/providers.ts';
import { readAudioRequest, readSpeechRequest } from '../requests/audio.ts';
import { readEditRequest, readImageRequest, readVariationRequest } from '../requests/image.ts';
import { modelIdOf, type RequestReader } from '../requests/validated-request.ts';
import { readVideoRequest } from '../requests/video.ts';
import type { MediaKind } from '../task/call.ts';
import type { Stage, Submission } from './stage.ts';

export const READERS: Readonly<Record<MediaKind, RequestReader>> = {
  image: readImageRequest,
  edit: readEditRequest,
  variation: readVariationRequest,
  video: readVideoRequest,
  audio: readAudioRequest,
  speech: readSpeechRequest,
};

/** Finds the model, and validates the fields for it and its routes. */
export const validateRequest: Stage = (submission) => {
  const { call, config } = submission;
  const { id, part, model } = findModel(config, modelIdOf(call.fields), call.holder.key.models);
  const validated = READERS[call.kind](call.fields, model);
  const { request } = validated;
  Object.assign(submission, { modelId: id, model, validated });
  submission.request = part === null ? request : { ...request, wildcardPart: part };
  checkRoutes(submission);
};

/** @throws Failure invalid_request where no route of the model has every field of the request */
function checkRoutes({ call: { fields }, config, model, validated }: Submission): void {
  const { request, fieldNames } = validated;
  const missing = model.routes.map((route) => fieldWithoutRoute(request, route, config.providers));
  const [field] = missing;
  if (field == null || missing.includes(null)) return;
  const name = fieldNames[field] ?? field;
  throw invalid(
    name,
    `no upstream of the model ${modelIdOf(fields)} supports the value ${quoteValue(fields[name])}; leave it out`,
    'not_supported_by_model',
  );
}
