import type { AssetStorage } from '../../assets/storage/asset-storage.ts';
import { newAssetId } from '../../assets/storage/identifier.ts';
import { DEFAULT_LIMITS, type Limits } from '../../images/limits.ts';
import type { ImagePool } from '../../operations/pool/pool.ts';
import type { NewAsset } from '../../store/asset.ts';
import type { SentFile } from '../task/call.ts';
import { type VerifiedImage, verifyImage } from './verified-image.ts';

interface StoreImageOptions {
  readonly files: AssetStorage;
  readonly pool: ImagePool;
  readonly limits: Limits;
}

/** Bytes of an image that a client sends. */
export const MAX_IMAGE_BYTES = DEFAULT_LIMITS.fileBytes;

/**
 * Verifies that a client's file is an image, and stores a copy of it.
 *
 * @param param path of the request's field
 * @throws Failure invalid_request that names `param`; `service_error` where the disk has no space or fails
 */
export async function storeImage(
  { path, size }: SentFile,
  param: string,
  { files, pool, limits }: StoreImageOptions,
): Promise<{ readonly asset: NewAsset; readonly image: VerifiedImage }> {
  const image = await verifyImage(pool, path, limits, param);
  await files.checkFreeSpace({ bytes: size, files: 1 });
  const id = newAssetId(image.extension);
  const written = await files.copy(id, path, limits.fileBytes);
  return { asset: { id, mediaType: image.mediaType, ...written }, image };
}
