import * as v from 'valibot';
import { firstModelOf } from '../../config/catalog/catalog.ts';
import type { Config, Model } from '../../config/settings/schema.ts';
import { checkedBody } from '../../schema/body.ts';
import { invalid } from '../../schema/invalid.ts';
import type { TaskRequest } from '../task/task-request.ts';
import { checkFields, type Fields, model, type RequestSchema } from './fields.ts';

/** A request validated against its model, before its inputs are accepted and anything is stored. */
export interface ValidatedRequest {
  /** Without inputs and mask. */
  readonly request: TaskRequest;
  /** `input_images` as the client sent them: http(s), data: or asset URLs of this server. */
  readonly inputImages: readonly string[];
  readonly callbackUrl: string | null;
  /** The client's names of fields that have other names in `request`. */
  readonly fieldNames: Readonly<Record<string, string>>;
}

/** Validates the fields of an endpoint for a model. @throws Failure invalid_request that names the field */
export type RequestReader = (fields: Fields, model: Model) => ValidatedRequest;

type ModelOf<Type extends Model['type']> = Extract<Model, { readonly type: Type }>;

/** Fields that no endpoint has to have, and that are no part of a task's request. */
interface OptionalFields extends Record<string, unknown> {
  readonly input_images?: readonly string[] | null | undefined;
  readonly callback_url?: string | null | undefined;
}

/**
 * The reader of an endpoint.
 *
 * @param type of the models that the endpoint accepts
 * @param requestOf the task's request for a valid body, without inputs
 */
export function requestReader<
  Type extends TaskRequest['type'],
  const Schema extends RequestSchema<OptionalFields>,
>(
  type: Type,
  schema: Schema,
  requestOf: (body: v.InferInput<Schema>, model: ModelOf<Type>) => TaskRequest,
  fieldNames: ValidatedRequest['fieldNames'] = {},
): RequestReader {
  return (fields, found) => {
    expectType(fields, found, type);
    const body = checkFields(schema, fields);
    const { input_images: inputImages, callback_url: callbackUrl }: OptionalFields = body;
    return {
      request: requestOf(body, found),
      inputImages: inputImages ?? [],
      callbackUrl: callbackUrl ?? null,
      fieldNames,
    };
  };
}

const modelField = v.looseObject({ model });

/**
 * The model that a request names; it may not exist.
 *
 * @throws Failure invalid_request
 */
export function modelIdOf({ model: id }: Fields): string {
  return checkedBody(modelField, id == null ? {} : { model: id }).model;
}

/**
 * The model for moderation requests without one: the first moderation model that the key may use.
 *
 * @param allowed the models that the key may use; null for all
 * @throws Failure invalid_request where there is none
 */
export function defaultModerationModel(
  config: Pick<Config, 'models'>,
  allowed: readonly string[] | null,
): string {
  const found = firstModelOf(config, 'moderation', allowed);
  if (found !== null) return found;
  throw invalid('model', 'there is no moderation model', 'model_not_found');
}

/** @throws Failure invalid_request with code `wrong_model_type` */
export function expectType<Type extends Model['type']>(
  fields: Fields,
  found: Model,
  type: Type,
): asserts found is ModelOf<Type> {
  if (found.type === type) return;
  const message = `${modelIdOf(fields)} is a model of type ${found.type}, not of ${type}`;
  throw invalid('model', message, 'wrong_model_type');
}
