import type { Model } from '../../src/console/api/resource.ts';

/** A model as `v1/models` lists it. */
export function modelWith(fields: Partial<Model> = {}): Model {
  return {
    ...{ object: 'model', id: 'm', root: 'm', aliases: [], created: 0, owned_by: 'o' },
    ...{ type: 'image', name: 'M', description: null, pricing_tiers: [], sizes: ['1024x1024'] },
    endpoints: ['/v1/images/generations', '/v1/images/edits'],
    pricing: { per_image: 0.1 },
    limits: { max_images: 10 },
    ...reasoningWith([]),
    ...fields,
  };
}

/** The part of a model about its reasoning. */
export function reasoningWith(
  efforts: Model['capability_metadata']['reasoning']['supported_efforts'],
): Pick<Model, 'capability_metadata'> {
  const reasoning = { supported_efforts: efforts, default_effort: null, can_disable: false };
  return { capability_metadata: { reasoning } };
}
