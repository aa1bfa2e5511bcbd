import * as v from 'valibot';
import { firstModelOf } from '../../config/catalog/catalog.ts';
import type { Config, Model } from '../../config/settings/schema.ts';
import { Failure } from '../../failure.ts';
import { checkedBody } from '../../schema/body.ts';
import { type Fields, invalid, model } from './fields.ts';

type ModelOf<Type extends Model['type']> = Extract<Model, { readonly type: Type }>;

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
  throw new Failure('invalid_request', 'model: there is no moderation model', {
    param: 'model',
    code: 'model_not_found',
  });
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
