import { clientPool, MAX_WAITING } from '../../operations/pool/pool.ts';
import { invalid } from '../../schema/invalid.ts';
import type { NewAsset } from '../../store/asset.ts';
import { networkPolicyOf } from '../../upstream/network-policy.ts';
import { imageLimits, MAX_IMAGE_BYTES, storeImage, type VerifiedImage } from '../files/images.ts';
import { acceptInput, bytesOfDataUrl, expectedDiskSpace } from '../files/inputs.ts';
import type { InputReference } from '../task/task-request.ts';
import type { Stage } from './stage.ts';

/** Verifies and stores the images of a request, where the disk has space for them and for the results. */
export const storeInputs: Stage = async (submission, services) => {
  const { call, config, request, stored, validated } = submission;
  const { images = [], mask, holder, publicUrl } = call;
  const { files, store } = services;
  await files.checkFreeSpace(expectedDiskSpace(request));
  if (request.type === 'audio') return;
  const options = {
    files,
    store,
    pool: clientPool(services.pool, { client: holder.account.id, maxWaiting: MAX_WAITING }),
    limits: imageLimits(config.batch, MAX_IMAGE_BYTES),
    networkPolicy: networkPolicyOf(config.network),
    publicUrl,
  };
  const keep = (asset: NewAsset): InputReference => {
    stored.push(asset);
    return { asset: asset.id };
  };
  const inputs: InputReference[] = [];
  let first: VerifiedImage | undefined;
  for (const [index, file] of images.entries()) {
    if ('url' in file) {
      const { reference, asset, image } = await acceptInput(file.url, file.param, options);
      if (asset) keep(asset);
      inputs.push(reference);
      first ??= image;
      continue;
    }
    const name = request.type === 'video' ? 'input_reference' : 'image';
    const param = images.length === 1 ? name : `${name}[${index}]`;
    const { asset, image } = await storeImage(file, param, options);
    inputs.push(keep(asset));
    first ??= image;
  }
  for (const [index, text] of validated.inputImages.entries()) {
    const { reference, asset } = await acceptInput(text, `input_images[${index}]`, options);
    if (asset) keep(asset);
    inputs.push(reference);
  }
  submission.request = { ...request, inputs };
  if (!mask || request.type === 'video') return;
  const content = 'url' in mask ? bytesOfDataUrl(mask.url, mask.param, options.limits) : mask;
  const { asset, image } = await storeImage(content, 'mask', options);
  submission.request = { ...request, inputs, mask: keep(asset) };
  checkMask(image, first);
};

/** @throws Failure invalid_request where a mask does not fit the image to edit */
function checkMask(mask: VerifiedImage, first: VerifiedImage | undefined): void {
  if (mask.format !== 'png' || !mask.hasAlpha) {
    const received = `${mask.format}${mask.hasAlpha ? '' : ' without one'}`;
    throw invalid('mask', `expected a PNG with an alpha channel, received ${received}`);
  }
  if (first && (mask.width !== first.width || mask.height !== first.height)) {
    const sizeText = ({ width, height }: VerifiedImage) => `${width}x${height}`;
    const sizes = `${sizeText(first)}, received ${sizeText(mask)}`;
    throw invalid('mask', `expected the size of the first image, ${sizes}`);
  }
}
