import { findModel } from '../../config/catalog/catalog.ts';
import { readAudioRequest, readSpeechRequest } from '../requests/audio.ts';
import { readEditRequest, readImageRequest, readVariationRequest } from '../requests/image.ts';
import { modelIdOf, type RequestReader } from '../requests/validated-request.ts';
import { readVideoRequest } from '../requests/video.ts';
import type { MediaKind } from '../task/call.ts';
import type { Stage } from './stage.ts';

export const READERS: Readonly<Record<MediaKind, RequestReader>> = {
  image: readImageRequest,
  edit: readEditRequest,
  variation: readVariationRequest,
  video: readVideoRequest,
  audio: readAudioRequest,
  speech: readSpeechRequest,
};

/** Finds the model, and validates the fields for it. */
export const validateRequest: Stage = (submission) => {
  const { call, config } = submission;
  const { id, part, model } = findModel(config, modelIdOf(call.fields), call.holder.key.models);
  const validated = READERS[call.kind](call.fields, model);
  const { request } = validated;
  Object.assign(submission, { modelId: id, model, validated });
  submission.request = part === null ? request : { ...request, wildcardPart: part };
};
