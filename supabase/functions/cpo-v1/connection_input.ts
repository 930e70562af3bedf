import * as z from "zod";
import {
  eanCode,
  houseNumber,
  houseNumberAddition,
  lineOf,
  orNull,
  postalCode,
} from "../../../packages/shared/src/fields.ts";

const fields = {
  ean_code: eanCode(),
  street: orNull(lineOf(1, 120)),
  house_number: houseNumber().meta({
    description: "12, 12a, 12-2 or 12 bis; number and addition are split",
    example: "12a",
  }),
  house_number_addition: orNull(lineOf(1, 10)),
  postal_code: postalCode().meta({ example: "1234AB" }),
  city: orNull(lineOf(1, 120)),
};

/** A connection as SQL takes it. */
export type ConnectionInput = {
  ean_code: string;
  postal_code: string;
  house_number: number;
  house_number_addition: string | null;
  street: string | null;
  city: string | null;
};

export const ConnectionInput = z
  .object(fields)
  .transform(
    ({ house_number, house_number_addition, ...rest }): ConnectionInput => ({
      ...rest,
      house_number: house_number.number,
      house_number_addition: houseNumberAddition(house_number_addition) ?? house_number.addition,
    }),
  )
  .meta({
    id: "ConnectionInput",
    description: "The EAN and its address; street and city are filled from the EAN register where absent",
  });

/** Only what was sent: an omitted field keeps its value. */
export const ConnectionChange = z
  .object({
    ean_code: fields.ean_code.optional(),
    street: lineOf(1, 120).optional(),
    house_number: fields.house_number.optional(),
    house_number_addition: fields.house_number_addition,
    postal_code: fields.postal_code.optional(),
    city: lineOf(1, 120).optional(),
  })
  .transform(({ house_number, house_number_addition, ...rest }) => {
    const addition = houseNumberAddition(house_number_addition);
    return {
      ...rest,
      // a new house number replaces the old addition too
      ...(house_number
        ? { house_number: house_number.number, house_number_addition: addition ?? house_number.addition }
        : {}),
      ...(!house_number && addition ? { house_number_addition: addition } : {}),
    };
  })
  .meta({
    id: "ConnectionChange",
    description: "Omitted fields keep their value; a new house_number comes with its own addition",
  });
