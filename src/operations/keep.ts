import type { Header } from './header.ts';
import type { Sharp } from './operation.ts';

export const METADATA_POLICIES = ['none', 'copyright', 'icc', 'all'] as const;

export type MetadataPolicy = (typeof METADATA_POLICIES)[number];

/**
 * Carries metadata from an input to its output. Nothing is the default: EXIF tells where a
 * photograph was taken and with which camera. The profile goes too, since colours are sRGB by then.
 */
export function keepMetadata(image: Sharp, header: Header, policy: MetadataPolicy): Sharp {
  switch (policy) {
    case 'none':
      return image;
    case 'copyright':
      return image;
    case 'icc':
      return keepProfile(image, header);
    case 'all':
      return keepProfile(image.keepExif().keepXmp(), header);
  }
}

function keepProfile(image: Sharp, { metadata }: Header): Sharp {
  if (!metadata.hasProfile) return image;
  // A CMYK profile says nothing about the sRGB pixels that we write.
  return metadata.space === 'cmyk' ? image.withIccProfile('srgb') : image.keepIccProfile();
}
